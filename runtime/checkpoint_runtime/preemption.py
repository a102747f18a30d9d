"""SIGTERM and SIGINT while a pipeline runs: what is being committed is committed, then it ends.

A signal is heeded where a stage's own code runs, and in waits; anywhere else it has to wait until
what is being recorded is recorded. What is done is kept, and the attempt that was under way does
not count.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar, Final, Self

EXIT_PREEMPTED: Final = 75
"""EX_TEMPFAIL of sysexits.h: "try again later", which is what a resume is."""


class Preempted(SystemExit):
    """The run was sent a SIGTERM. Not caught, it ends the process with code 75.

    No :class:`Exception`: a stage that catches those does not catch this.
    """

    def __init__(self) -> None:
        super().__init__(EXIT_PREEMPTED)

    def __str__(self) -> str:
        return "preempted (SIGTERM)"


class Preemption:
    """Within this (``with``), signals end the run where :meth:`heeded` lets them.

    The first SIGTERM raises :class:`Preempted` and the first SIGINT :class:`KeyboardInterrupt`, now
    or when next heeded; another one does at once what it does without us. One that comes when
    nothing is left to be heeded is too late: all is done. Only where nobody else handles
    them, and in the main thread, which alone can be told of signals.
    """

    _current: ClassVar[list[Preemption]] = []
    """Of the main thread: at most one."""

    def __init__(self) -> None:
        self._previous: dict[signal.Signals, Any] = {}
        self._heeds = False
        self._pending: signal.Signals | None = None

    @classmethod
    def of_this_run(cls) -> Preemption:
        """A pipeline that is run within a stage of another one waits with that one's signals."""
        if cls._current and _in_main_thread():
            return _Nested(cls._current[-1])
        return cls()

    def __enter__(self) -> Self:
        if _in_main_thread():
            for number, usual in _USUAL.items():
                if signal.getsignal(number) is usual:
                    self._previous[number] = usual
            self._current.append(self)
            for number in self._previous:
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()
        if self in self._current:
            self._current.remove(self)
        if self._pending is not None:
            self._raise(self._pending)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Within this, a signal raises; so does one that has been waiting for it."""
        with self._set(heeds=True):
            if self._pending is not None:
                self._raise(self._pending)
            yield

    @contextmanager
    def _set(self, *, heeds: bool) -> Iterator[None]:
        before, self._heeds = self._heeds, heeds
        try:
            yield
        finally:
            self._heeds = before

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._let_go()
        self._pending = signal.Signals(number)
        if self._heeds:
            self._raise(self._pending)

    def _raise(self, number: signal.Signals) -> None:
        self._pending = None
        raise KeyboardInterrupt if number is signal.SIGINT else Preempted

    def _let_go(self) -> None:
        """What it does without us again."""
        for number, previous in self._previous.items():
            # A stage may have put a handler of its own in its place: that stays.
            if signal.getsignal(number) == self._note:
                signal.signal(number, previous)


class _Nested(Preemption):
    """Has no handlers of its own, and holds those of the run around it."""

    def __init__(self, around: Preemption) -> None:
        super().__init__()
        self._around = around
        self._held = around._set(heeds=False)

    def __enter__(self) -> Self:
        self._held.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        with self._around.heeded():
            yield


_USUAL: Final[dict[signal.Signals, Callable[..., Any] | signal.Handlers]] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _forget_in_child() -> None:
    # A child that a stage forks, a pool's worker, is ended by SIGTERM as any process is.
    while Preemption._current:
        Preemption._current.pop()._let_go()


os.register_at_fork(after_in_child=_forget_in_child)
