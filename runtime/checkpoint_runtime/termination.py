"""SIGTERM ends a run as Ctrl-C does: what is done is kept, and the attempt does not count."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(SystemExit):
    """The run was sent a SIGTERM. Not caught, it ends the process with code 143, as shells say it.

    No :class:`Exception`: a stage that catches those does not catch this.
    """

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)

    def __str__(self) -> str:
        return "terminated by SIGTERM"


@contextmanager
def raising_on_sigterm() -> Iterator[None]:
    """Within this, the first SIGTERM raises :class:`Terminated`; a second one ends the process.

    Only where nobody else handles it, and in the main thread, which alone can be told of signals.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        _let_go()


def _terminate(number: int, frame: FrameType | None) -> None:
    _let_go()
    raise Terminated


def _let_go() -> None:
    # A stage may have put a handler of its own in its place: that stays.
    if signal.getsignal(signal.SIGTERM) is _terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# A child that a stage forks is ended by its parent's SIGTERM as any process is: a pool's worker.
os.register_at_fork(after_in_child=_let_go)
