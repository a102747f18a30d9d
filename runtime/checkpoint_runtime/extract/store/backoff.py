"""Pauses between tries, longer each time, up to a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random
from typing import Final

from checkpoint_runtime.extract.errors import StoppedError, StoreError
from checkpoint_runtime.extract.store.failures import TransientStoreError

_TELLS_EVERY_S: Final = 10.0


class Backoff:
    """For one object. The clock starts when it is made."""

    def __init__(
        self,
        budget_s: float,
        *,
        first_s: float,
        longest_s: float,
        random: Random,
        stop: threading.Event,
        note: Callable[[str], None],
    ) -> None:
        """
        :param note: told now and then what it is that takes so long.
        """
        self._note = note
        self._tells_at = time.monotonic() + _TELLS_EVERY_S
        self._budget_s = budget_s
        self._deadline = time.monotonic() + budget_s
        self._next_s = first_s
        self._longest_s = longest_s
        self._random = random
        self._stop = stop
        self._tries = 0

    def pause(self, error: TransientStoreError) -> None:
        """After a try that ended with ``error``.

        :raises StoreError: there is no time left.
        :raises StoppedError: the run is to stop; at once, not after the pause.
        """
        self._tries += 1
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise StoreError(
                f"{error} Given up after {self._budget_s:g} s (tries: {self._tries})."
            ) from error
        if time.monotonic() >= self._tells_at:
            self._tells_at = time.monotonic() + _TELLS_EVERY_S
            self._note(
                f"{error} It is tried again, for {left_s:.0f} s more (tries: {self._tries})."
            )
        # Many workers that met the same fault must not come back in the same moment.
        pause_s = self._next_s * (0.5 + self._random.random() / 2)
        self._next_s = min(self._next_s * 2, self._longest_s)
        if self._stop.wait(min(pause_s, left_s)):
            raise StoppedError(f"Told to stop, between two tries: {error}") from error
