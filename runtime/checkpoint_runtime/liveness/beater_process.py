"""The process that beats for its worker, seen by the worker: started, watched over, ended."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from checkpoint_runtime.liveness import beater
from checkpoint_runtime.liveness.beat import Who
from checkpoint_runtime.liveness.late_start import SOCKET, can_start_late, late, silence
from checkpoint_runtime.liveness.page import Page

_PROGRAM: Final = beater.__file__
_HIGH: Final = 16
"""Descriptors from here on cannot stand in the way of those that the beater is given."""
_PYTHONS: Final = ("python", "pypy")
_SHORTEST_LATE_S, _LONGEST_LATE_S = 0.5, 2.5
"""To wait for less is not worth a shell. It has to have started before its first beat, on a machine
that is busy too; and it may not notice that we are gone as long as it waits."""


class BeaterProcess:
    """A running beater: a child of this process, that nobody has to be afraid of.

    It takes no signal but SIGKILL and SIGSTOP, holds nothing of the worker's but the page, and ends
    by itself as soon as the worker is gone.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._held = ExitStack()
        """Descriptors by whose end it would know that we are gone."""

    @classmethod
    def started(
        cls, page: Page, who: Who, path: Path, *, turn: int, interval_s: float, first_at_s: float
    ) -> BeaterProcess:
        """
        :param turn: counts those of this worker; the page says whose it is.
        :param first_at_s: when it beats first, on the monotonic clock.
        :raises OSError: it cannot be started.
        """
        program = sys.executable
        if getattr(sys, "frozen", False) or not Path(program or "").name.startswith(_PYTHONS):
            raise OSError(f"{program!r} is no Python that could be started a second time")
        arguments = [program, "-I", "-S", "-E", _PROGRAM, str(who.pid), str(who.start_ticks)]
        arguments += [str(interval_s), str(first_at_s), str(turn), os.fspath(path)]
        late_s = min(_LONGEST_LATE_S, (first_at_s - time.monotonic()) / 2)
        with ExitStack() as theirs, ExitStack() as ours:
            given = {
                beater.PAGE: _copy(page.descriptor, theirs),
                beater.TIE: _copy(_tie(theirs, ours), theirs),
            }
            if late_s > _SHORTEST_LATE_S and can_start_late():
                given[SOCKET] = _copy(silence(late_s, theirs, ours), theirs)
                arguments = late(arguments)
            found = cls(_spawned(arguments, given))
            found._held = ours.pop_all()
            return found

    @property
    def is_there(self) -> bool:
        """Whether it is still running. Once it is not, this has to be asked no more."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == 0
        except ChildProcessError:  # somebody here waits for any child
            return False

    def end(self) -> None:
        """End it at once, in the middle of a beat or not."""
        # As long as nobody has waited for it its number is its own.
        if self.is_there:
            os.kill(self.pid, signal.SIGKILL)
            _reap(self.pid)
        self.forget()

    def forget(self) -> None:
        """Give back what is held for it: it is gone, or is somebody else's."""
        self._held.close()


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return  # somebody here waits for any child


def _spawned(arguments: list[str], given: dict[int, int]) -> int:
    """
    :param given: what becomes which of its descriptors.
    """
    nowhere = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)
    copies = [(os.POSIX_SPAWN_DUP2, one, other) for one, other in ((0, 1), (0, 2))]
    ours = [(os.POSIX_SPAWN_DUP2, descriptor, its) for its, descriptor in given.items()]
    return os.posix_spawn(
        arguments[0],
        arguments,
        os.environ,
        file_actions=[nowhere, *copies, *ours],
        # What is meant for the worker, a Ctrl-C say, must not end its beats.
        setsigmask=signal.valid_signals(),
    )


def _copy(descriptor: int, theirs: ExitStack) -> int:
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    theirs.callback(os.close, copy)
    return copy


def _tie(theirs: ExitStack, ours: ExitStack) -> int:
    """What becomes readable for the beater when we are gone."""
    try:
        itself = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):  # an old kernel, or a container that forbids it
        itself, writing = os.pipe()
        ours.callback(os.close, writing)
    theirs.callback(os.close, itself)
    return itself
