"""Answers that are given later: a call that does not return for a time, a disk that is slow.

The call has been carried out and recorded, its caller waits; whoever else makes calls is served
meanwhile. No signal but SIGKILL reaches a caller that waits so, as with a device that hangs.
"""

from __future__ import annotations

import heapq
import itertools
import os
import signal
import time
from functools import partial
from math import inf
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.faults import HoldAt
from pytest_checkpoint.record.operations import Effect
from pytest_checkpoint.record.recorder import OnStep, Recorder
from pytest_checkpoint.record.reply import Descriptor, Reply, answer


class Delays:
    """Of one execution, whose root process is our child. Times on the monotonic clock."""

    def __init__(
        self, listener: kernel.Listener, root: int, *, hold: HoldAt | None, slow_s: float
    ) -> None:
        self._listener: Final = listener
        self._root: Final = os.pidfd_open(root)
        self._hold: Final = hold
        self._slow_s: Final = slow_s
        self._held_s = 0.0
        """How much longer the call waits that is being served."""
        self._numbers: Final = itertools.count()
        self._waiting: list[tuple[float, int, kernel.Notification, Reply]] = []

    def close(self) -> None:
        """What still waits is not answered any more."""
        for _, _, _, reply in self._waiting:
            if isinstance(reply, Descriptor):
                os.close(reply.descriptor)
        os.close(self._root)

    def watch(self, recorder: Recorder) -> None:
        """Hold the call of the step that was asked for, and tell the root."""
        if self._hold is not None:
            recorder.on_step = partial(self._after, recorder, self._hold, recorder.on_step)

    def _after(
        self,
        recorder: Recorder,
        hold: HoldAt,
        before: OnStep | None,
        step: int,
        effects: tuple[Effect, ...],
    ) -> None:
        if before is not None:
            before(step, effects)
        if not recorder.is_at(hold.step):
            return
        self._held_s = hold.seconds
        recorder.has_fired()
        try:
            signal.pidfd_send_signal(self._root, signal.SIGUSR1)
        except ProcessLookupError:
            return  # it has ended: what outlived it is held all the same

    def answer(self, notification: kernel.Notification, reply: Reply, *, recorded: bool) -> None:
        """At once, or when its time has come. ``recorded``: the call was an operation."""
        wait_s = self._held_s + (self._slow_s if recorded else 0.0)
        self._held_s = 0.0
        if not wait_s:
            answer(self._listener, notification, reply)
            return
        due = time.monotonic() + wait_s
        heapq.heappush(self._waiting, (due, next(self._numbers), notification, reply))

    @property
    def due(self) -> float:
        """When the next answer is to be given; infinity: none waits."""
        return self._waiting[0][0] if self._waiting else inf

    def answer_due(self) -> None:
        while self.due <= time.monotonic():
            _, _, notification, reply = heapq.heappop(self._waiting)
            answer(self._listener, notification, reply)
