"""The end of a grace: after a time that began with a signal, another signal in the main thread."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from typing import Any, Final, Self

from checkpoint_runtime.errors import DefinitionError

_WAKING: Final = signal.SIGURG
"""Where nobody handles it the kernel drops it: one that comes late does nothing."""
_LONGEST_S: Final = 86_400.0


class Grace:
    """Within this (``with``, in the main thread), a time can be begun at whose end it is told.

    A thread waits for that end: to start one only when a signal comes is not safe, since a handler
    runs in the middle of anything. It wakes the main thread out of a system call too.
    """

    def __init__(self, grace_s: float, over: Callable[[], None], note: Callable[[str], None]):
        """
        :param over: called in the main thread, between two of its instructions.
        :param note: told by that thread, once a time has begun.
        """
        self._grace_s = grace_s
        self._over = over
        self._note = note
        self._words: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._previous: Any = None

    def __enter__(self) -> Self:
        if signal.getsignal(_WAKING) is signal.SIG_DFL:
            self._previous = signal.signal(_WAKING, lambda number, frame: self._over())
            self._thread = threading.Thread(target=self._wait, name="grace", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._words.put(None)
            self._thread.join()
            self._thread = None
            signal.signal(_WAKING, self._previous)

    @property
    def can_begin(self) -> bool:
        """Whether there is a time to be given, and its end could be told."""
        return self._thread is not None

    def begin(self, words: str) -> None:
        """Begin it, from within a handler. Only the first one counts."""
        self._words.put(words)

    def _wait(self) -> None:
        words = self._words.get()
        if words is None:
            return
        try:
            self._note(words)
        finally:
            self._end_in_time()

    def _end_in_time(self) -> None:
        try:
            self._words.get(timeout=self._grace_s)
        except queue.Empty:
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, _WAKING)


def checked_grace(grace_s: float) -> float:
    """
    :raises DefinitionError: it is no time to wait.
    """
    if type(grace_s) not in (int, float):
        raise DefinitionError(f"a grace of {grace_s!r} is no number of seconds.")
    if not 0 <= grace_s <= _LONGEST_S:
        raise DefinitionError(f"a grace of {grace_s!r} s is none: take 0 s to a day.")
    return float(grace_s)
