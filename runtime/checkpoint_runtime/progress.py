"""Whoever watches a run from within the process."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told what happens, as it happens. What it raises ends the run."""

    def planned(self, stages: int, done: int) -> None:
        """So many stages there are, and so many of them are done already."""

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        """An attempt begins, of so many in all."""

    def advanced(self, stage: str, items: int, of: int) -> None:
        """So many items of a mapped stage are done."""

    def done(self, stage: str, took_s: float) -> None:
        """A stage is done: that survives every crash."""

    def failed(self, stage: str, error: str, wait_s: float | None) -> None:
        """An attempt failed; the next one begins after ``wait_s``, or none in this run."""


class Silent:
    """Tells nobody."""

    def planned(self, stages: int, done: int) -> None:
        """Nothing is shown."""

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        """Nothing is shown."""

    def advanced(self, stage: str, items: int, of: int) -> None:
        """Nothing is shown."""

    def done(self, stage: str, took_s: float) -> None:
        """Nothing is shown."""

    def failed(self, stage: str, error: str, wait_s: float | None) -> None:
        """Nothing is shown."""
