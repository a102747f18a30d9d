"""How full the staging may get, as the user wants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkpoint_runtime.extract.errors import ExtractInputError

HIGH: Final = 0.8
LOW: Final = 0.6
DEADLINE_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Shares of the file system, by bytes and by inodes, and of the own budget."""

    high: float = HIGH
    """What would pass it has to wait."""
    low: float = LOW
    """Once something had to wait, it goes on below this."""
    budget_bytes: int | None = None
    """What this worker may hold there; None: as much as the file system lets it."""
    deadline_s: float = DEADLINE_S
    """So long is waited for room that only others can give back."""

    def __post_init__(self) -> None:
        """
        :raises ExtractInputError: marks that are none.
        """
        if not 0 < self.low <= self.high <= 1:
            raise ExtractInputError(
                f"--staging-low {self.low * 100:g} and --staging-high {self.high * 100:g} are no "
                "marks: take percents above 0 and up to 100, the low one not above the high one."
            )
        if self.budget_bytes is not None and self.budget_bytes <= 0:
            raise ExtractInputError(f"--staging-budget {self.budget_bytes} is no number of bytes.")
        if not 0 <= self.deadline_s < float("inf"):
            raise ExtractInputError(
                f"--staging-deadline {self.deadline_s:g} is no time in seconds."
            )
