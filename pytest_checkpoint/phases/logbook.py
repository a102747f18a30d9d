"""What was found out already, by name, so that an interrupted examination can be gone on with.

A phase asks for a finding by its name before it makes it, and hands it in when it is made. Who
keeps it where is no matter of the phases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from checkpoint_contracts.evidence import CrashPoint, TrialKind

Finding = TypeVar("Finding")


class Logbook(Protocol):
    """Names → findings, which are dataclasses of plain data."""

    def recall(self, name: str, kind: type[Finding]) -> Finding | None:
        """What is known under this name; None: nothing."""

    def keep(self, name: str, finding: Any) -> None:
        """Know it from now on."""

    def forget(self, *beginnings: str) -> None:
        """All whose names begin so: it does not hold any more. All at once, or not at all."""


class _Forgetful:
    """Keeps nothing."""

    def recall(self, name: str, kind: type[Finding]) -> Finding | None:
        return None

    def keep(self, name: str, finding: Any) -> None:
        """As if it had not been handed in."""

    def forget(self, *beginnings: str) -> None:
        """There is nothing."""


FORGETFUL: Final[Logbook] = _Forgetful()


TRIED: Final = "tried "
"""Begins what a logbook calls a trial."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a phase that is over has to say."""

    texts: tuple[str, ...] = ()


def trial_name(trial: TrialKind, where: CrashPoint) -> str:
    """What a logbook calls a trial."""
    return f"{TRIED}{trial} {where.id}"


def once(logbook: Logbook, name: str, kind: type[Finding], make: Callable[[], Finding]) -> Finding:
    """The finding of this name; made and kept if it is not known."""
    known = logbook.recall(name, kind)
    if known is None:
        known = make()
        logbook.keep(name, known)
    return known
