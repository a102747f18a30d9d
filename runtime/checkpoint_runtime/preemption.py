"""Signals that end a run: what is being committed is committed, then it ends.

SIGTERM and SIGINT, and SIGUSR1, by which SLURM tells a job that its time is nearly over. A signal
is heeded where a stage's own code runs, and in waits; anywhere else it has to wait until what is
being recorded is recorded. With a grace the stage's code may go on for so long, and what it gets to
its end is recorded too. What is done is kept, and an attempt that was under way does not count.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Final, Self

from checkpoint_runtime.grace import Grace

EXIT_PREEMPTED: Final = 75
"""EX_TEMPFAIL of sysexits.h: "try again later", which is what a resume is."""


class Preempted(SystemExit):
    """The run was sent a SIGTERM or SIGUSR1. Not caught, it ends the process with code 75.

    No :class:`Exception`: a stage that catches those does not catch this.
    """

    def __init__(self, number: signal.Signals = signal.SIGTERM) -> None:
        super().__init__(EXIT_PREEMPTED)
        self.signal = number
        """Which of the two."""

    def __str__(self) -> str:
        return f"preempted ({self.signal.name})"


class Preemption:
    """Within this (``with``), signals end the run where :meth:`heeded` lets them.

    The first SIGTERM or SIGUSR1 raises :class:`Preempted` and the first SIGINT
    :class:`KeyboardInterrupt`, now, when next heeded, or when the grace is over; another one does
    at once what it does without us, or, if it is of another kind and within a grace, ends that. One
    that comes when nothing is left to be heeded is too late: all is done. Only where nobody else
    handles them, and in the main thread, which alone can be told of signals.
    """

    _current: ClassVar[list[Preemption]] = []
    """Of the main thread: at most one."""

    def __init__(self, grace_s: float = 0.0, note: Callable[[str], None] | None = None) -> None:
        """
        :param note: told, by a thread of its own, that a grace has begun.
        """
        self._previous: dict[signal.Signals, Any] = {}
        self._heeds = False
        self._waits = False
        """Whether a signal that is heeded now has to wait for the end of the grace."""
        self._pending: signal.Signals | None = None
        self._ripe = False
        """Whether it has waited for long enough."""
        self._grace_s = grace_s
        self._grace = Grace(grace_s, self._grace_over, note or (lambda text: None))

    @classmethod
    def of_this_run(
        cls, grace_s: float = 0.0, note: Callable[[str], None] | None = None
    ) -> Preemption:
        """A pipeline that is run within a stage of another one waits with that one's signals."""
        if cls._current and _in_main_thread():
            return _Nested(cls._current[-1])
        return cls(grace_s, note)

    def __enter__(self) -> Self:
        if _in_main_thread():
            caught = _caught()
            for number, usual in _USUAL.items():
                # Somebody may catch it of whom Python does not know: ``faulthandler.register``.
                hidden = usual is signal.SIG_DFL and caught >> (number - 1) & 1
                if signal.getsignal(number) is usual and not hidden:
                    self._previous[number] = usual
            if self._previous and self._grace_s:
                self._grace.__enter__()
            self._current.append(self)
            for number in self._previous:
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()
        self._grace.__exit__(None, None, None)
        if self in self._current:
            self._current.remove(self)
        if self._pending is not None:
            self._raise(self._pending)

    @contextmanager
    def heeded(self, *, work: bool = False) -> Iterator[None]:
        """Within this, a signal raises; so does one that has been waiting for it.

        :param work: what comes to its end here is worth a grace.
        """
        with self._set(heeds=True, waits=work):
            if self._pending is not None:
                self._raise(self._pending)
            yield

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within this, in the midst of what is heeded, a signal waits until it is left.

        Threads that a stage has are not told of signals: there it does nothing.
        """
        if not _in_main_thread():
            yield
            return
        try:
            with self._set(heeds=False, waits=False):
                yield
        finally:
            # One that is within its grace goes on waiting.
            if self._ripe and self._heeds and self._pending is not None:
                self._raise(self._pending)

    @contextmanager
    def _set(self, *, heeds: bool, waits: bool) -> Iterator[None]:
        before = self._heeds, self._waits
        self._heeds, self._waits = heeds, waits
        try:
            yield
        finally:
            self._heeds, self._waits = before

    def _note(self, number: int, frame: FrameType | None) -> None:
        first = self._pending is None
        self._pending = signal.Signals(number)
        if first and self._waits and self._heeds and self._grace.can_begin:
            # The others may still come, and end the grace.
            self._let_go(only=self._pending)
            self._grace.begin(
                f"{self._pending.name}: what is under way has {self._grace_s:g} s to get to its "
                "end; another one ends the run at once."
            )
            return
        self._let_go()
        self._grace_over()

    def _grace_over(self) -> None:
        if self._heeds and self._pending is not None:
            self._raise(self._pending)
        self._ripe = True

    def _raise(self, number: signal.Signals) -> None:
        self._pending = None
        self._ripe = False
        raise KeyboardInterrupt if number is signal.SIGINT else Preempted(number)

    def _let_go(self, only: signal.Signals | None = None) -> None:
        """What it does without us again."""
        for number, previous in self._previous.items():
            # A stage may have put a handler of its own in its place: that stays.
            if only in (None, number) and signal.getsignal(number) == self._note:
                signal.signal(number, previous)


class _Nested(Preemption):
    """Has no handlers of its own, and holds those of the run around it."""

    def __init__(self, around: Preemption) -> None:
        super().__init__()
        self._around = around
        self._held = around._set(heeds=False, waits=False)

    def __enter__(self) -> Self:
        self._held.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._around.held():
            yield

    @contextmanager
    def heeded(self, *, work: bool = False) -> Iterator[None]:
        with self._around.heeded(work=work):
            yield


_USUAL: Final[dict[signal.Signals, Callable[..., Any] | signal.Handlers]] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGUSR1: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _caught() -> int:
    """The signals for which this process has a handler, a bit for each."""
    try:
        status = Path("/proc/self/status").read_text(errors="replace")
        return int(status.partition("SigCgt:")[2].split()[0], 16)
    except (OSError, ValueError, IndexError):
        return 0  # not to be learnt here: as if Python knew of all


def _forget_in_child() -> None:
    # A child that a stage forks, a pool's worker, is ended by SIGTERM as any process is.
    while Preemption._current:
        Preemption._current.pop()._let_go()


os.register_at_fork(after_in_child=_forget_in_child)
