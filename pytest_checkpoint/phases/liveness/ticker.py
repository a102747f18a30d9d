"""For how long at most this machine has not let us run, while something was watched."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final, Self

_EVERY_S: Final = 0.01


class Ticker:
    """Runs beside the ``with`` block, and notes how late it is woken."""

    def __init__(self) -> None:
        self.starved_s = 0.0
        self._over: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._over.wait(_EVERY_S):
            now = time.monotonic()
            self.starved_s = max(self.starved_s, now - last - _EVERY_S)
            last = now
