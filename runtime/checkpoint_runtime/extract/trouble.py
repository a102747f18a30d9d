"""The first error of any thread of a worker: it ends them all, and it is the one that is told."""

from __future__ import annotations

import threading


class Trouble:
    """Shared by all threads of one worker."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        """Of all that they wait for: notified when any of it changes."""
        self.stop = threading.Event()
        """Set when nothing more is to be begun, nor waited for."""
        self._first: BaseException | None = None

    def tell(self, error: BaseException) -> None:
        """Only the first one counts."""
        with self.changed:
            if self._first is None and not self.stop.is_set():
                self._first = error
            self.stop.set()
            self.changed.notify_all()

    def end(self) -> None:
        """Nothing more is to be begun, without an error."""
        with self.changed:
            self.stop.set()
            self.changed.notify_all()

    def check(self) -> None:
        """Raise the first error, if there is one."""
        if self._first is not None:
            raise self._first
