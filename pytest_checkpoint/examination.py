"""What examining one subject gave: evidence, verdicts, and where things were kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from checkpoint_contracts.evidence import Evidence
from checkpoint_contracts.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Wreck:
    """A kept crash state: everything of one failure that can be opened afterwards."""

    folder: Path
    listing: tuple[str, ...]
    """What lay in the workspace at the crash, a line each (``state.json  0 bytes``)."""
    operations: tuple[str, ...]
    """The operations around the crash, a line each, the crash marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The whole outcome for one subject."""

    evidence: Evidence
    verdicts: Mapping[str, Verdict]
    """Contract id → verdict, for every contract of the catalogue."""
    operations: int = 0
    notes: tuple[str, ...] = ()
    """For the header and the report: where the workspace was, what was created outside it …"""
    wrecks: Mapping[tuple[str, str], Wreck] = field(default_factory=dict)
    """(contract id, crash point id) → what was kept."""
    folder: Path | None = None
    """Where recording and evidence are kept."""
    elapsed_s: float = 0.0
    interrupted: bool = False
    """By Ctrl-C: it says what was seen so far."""


class Progress(Protocol):
    """Whoever shows how far an examination has come."""

    def phase(self, text: str) -> None:
        """A new phase begins: ``first run``, ``recording``, ``self-check`` …"""

    def estimate(self, text: str) -> None:
        """What is ahead, before exploring starts: ``214 states, about 0.4 minutes``."""

    def advance(self, done: int, total: int) -> None:
        """So many states have been explored."""
