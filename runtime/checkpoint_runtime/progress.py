"""Whoever watches a run from within the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """What is to be told of an attempt that raised."""

    stage: str
    item: str | None
    """``embed[3]``: the item of a mapped stage that was under way."""
    error: str
    """Kind and text of the exception, in one line."""
    where: str | None
    """``film.py:33 in embed``: the last line of the stage's own code."""
    traceback: str | None
    """As Python prints it, without the runtime's own frames."""
    wait_s: float | None
    """The next attempt begins after that; None: there is none in this run."""


class Progress(Protocol):
    """Told what happens, as it happens. What it raises ends the run."""

    def note(self, text: str) -> None:
        """Something worth knowing that is no error: what is cleared, what was dropped.

        That a grace has begun is told by a thread of its own.
        """

    def planned(self, stages: int, done: int) -> None:
        """So many stages there are, and so many of them are done already."""

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        """An attempt begins, of so many in all."""

    def going_through(self, stage: str, done: int, of: int) -> None:
        """A mapped stage has so many items, of which some are done already."""

    def advanced(self, stage: str, items: int, of: int) -> None:
        """So many items of a mapped stage are done, one more than before."""

    def done(self, stage: str, took_s: float) -> None:
        """A stage is done: that survives every crash."""

    def failed(self, attempt: FailedAttempt) -> None:
        """An attempt failed."""

    def finished(self, stages: int, done: int) -> None:
        """Every stage is done, so many of them in this run."""


class Silent:
    """Tells nobody."""

    def note(self, text: str) -> None:
        """Nothing is shown."""

    def planned(self, stages: int, done: int) -> None:
        """Nothing is shown."""

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        """Nothing is shown."""

    def going_through(self, stage: str, done: int, of: int) -> None:
        """Nothing is shown."""

    def advanced(self, stage: str, items: int, of: int) -> None:
        """Nothing is shown."""

    def done(self, stage: str, took_s: float) -> None:
        """Nothing is shown."""

    def failed(self, attempt: FailedAttempt) -> None:
        """Nothing is shown."""

    def finished(self, stages: int, done: int) -> None:
        """Nothing is shown."""
