"""What is going on, told now and then."""

from __future__ import annotations

import time
from typing import Final

from pytest_checkpoint.examination import Progress

_EVERY_S: Final = 2.0


class Told:
    """Says what is going on, not more often than anybody can read."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._told_s = float("-inf")

    def phase(self, text: str) -> None:
        if time.monotonic() - self._told_s >= _EVERY_S:
            self._told_s = time.monotonic()
            self._progress.phase(text)
