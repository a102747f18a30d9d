"""A signal to the job at a step of its own, and the end of its grace."""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.record import family, kernel
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.operations import Effect
from pytest_checkpoint.record.recorder import OnStep, Recorder
from pytest_checkpoint.record.service import Service

_WHOLE_GROUP: Final = signal.SIGINT
"""What Ctrl-C sends; the others come from somebody who knows the first process only."""


def unavailable() -> str | None:
    """Why nothing can be signalled on this machine; None: it can."""
    if kernel.calls_wait_for_their_answer():
        return None
    return (
        "Linux 5.19 or newer is needed to send a signal at an operation: before, it would "
        "interrupt the call, and have it made twice"
    )


@dataclass(slots=True)
class Preemption:
    """For one execution, whose root process is our child and the leader of its process group.

    Nobody but us waits for the root, so its number, and its group's, are its own until then. It is
    signalled once, while it lives: one that has ended has nobody to be told.
    """

    asked: SignalAt
    root: int
    spared: set[int]
    """Children of ours that are none of the subject's."""
    ends: float | None = None
    """When the grace is over, on the monotonic clock; None: it has not begun."""
    _handle: int = -1

    def __enter__(self) -> Self:
        self._handle = os.pidfd_open(self.root)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def watch(self, recorder: Recorder, service: Service) -> None:
        """Send the signal when the step has been carried out, before its caller goes on."""
        recorder.on_step = partial(self._after, recorder, service, recorder.on_step)

    def _after(
        self,
        recorder: Recorder,
        service: Service,
        before: OnStep | None,
        step: int,
        effects: tuple[Effect, ...],
    ) -> None:
        if before is not None:
            before(step, effects)
        if not recorder.is_at(self.asked.step) or self.ends is not None or self._root_has_ended():
            return
        service.receive_all()
        self._send(service)
        recorder.has_fired()
        self.ends = time.monotonic() + self.asked.grace_s

    def _send(self, service: Service) -> None:
        if self.asked.whom != "root":
            self._send_below(service)
            signal.pidfd_send_signal(self._handle, signal.SIGUSR1)
        elif self.asked.number == _WHOLE_GROUP:
            os.killpg(self.root, self.asked.number)
        else:
            signal.pidfd_send_signal(self._handle, self.asked.number)

    def _send_below(self, service: Service) -> None:
        """To processes below the root: it must not stop, since it lets them go on later."""
        below = [one for one in family.descendants(self.spared) if one != self.root]
        caller = Caller(service.thread).process
        if self.asked.whom == "caller":
            below = [one for one in below if one == caller]
        elif self.asked.whom == "group":
            group = _group_of(caller)
            below = [one for one in below if _group_of(one) == group]
        for process in below:
            try:
                os.kill(process, self.asked.number)  # it waits for us, or is our descendant
            except ProcessLookupError:
                continue  # it has ended just now

    def _root_has_ended(self) -> bool:
        """Waited for or not."""
        poller = select.poll()
        poller.register(self._handle, select.POLLIN)
        return bool(poller.poll(0))


def _group_of(process: int) -> int | None:
    """None: it has ended just now."""
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return None
