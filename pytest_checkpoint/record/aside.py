"""A call that is put aside when it comes, and carried out later, as if it had come then.

So one thread of the job stands right before an operation, with all that it has looked at and
decided before, while others change what it has seen; the rest of the job is stopped. The root, the
launcher of ``companion``, says by its first output that it is to be carried out, and lets the rest
go on.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from pytest_checkpoint.record import family, kernel
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.faults import AsideAt
from pytest_checkpoint.record.injector import UNRECORDED, Intent
from pytest_checkpoint.record.operations import Effect
from pytest_checkpoint.record.output import Output
from pytest_checkpoint.record.recorder import Recorder


class SetAside(Exception):
    """The call is not carried out now, and its caller waits."""


@dataclass(slots=True)
class Aside:
    """Of one execution, whose root process is our child."""

    asked: AsideAt
    recorder: Recorder
    root: int
    spared: set[int]
    """Children of ours that are none of the subject's."""
    said: Output
    """What the root prints."""
    call: kernel.Notification | None = None
    """The one that waits."""
    _is_new: bool = False
    """The root has not heard of it yet."""
    _handle: int = field(init=False)

    def __post_init__(self) -> None:
        self._handle = os.pidfd_open(self.root)
        self.recorder.troubles = (*self.recorder.troubles, self)

    def close(self) -> None:
        os.close(self._handle)

    def before(self, intent: Intent) -> int:
        recorder = self.recorder
        wanted = recorder.fired_at is None and intent.deed not in UNRECORDED
        if wanted and recorder.step + 1 >= self.asked.step:
            recorder.fired_at = recorder.step + 1
            raise SetAside
        return intent.length

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        """Nothing depends on what was recorded."""

    def put(self, call: kernel.Notification) -> None:
        """It waits from now on, and no process below the root goes on."""
        self.call, self._is_new = call, True
        mine = Caller(call.thread).process
        for process in family.descendants(self.spared):
            if process == self.root:
                continue
            try:
                if process == mine:
                    _stop_others(process, call.thread)
                else:
                    os.kill(process, signal.SIGSTOP)  # our descendant, and not waited for
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended just now

    def tell(self) -> None:
        """The root, when all calls that were under way have been answered."""
        if self._is_new:
            self._is_new = False
            signal.pidfd_send_signal(self._handle, signal.SIGUSR1)

    def due(self) -> kernel.Notification | None:
        """The call, once, when its time has come."""
        if self.call is None or not self.said.anything:
            return None
        call, self.call = self.call, None
        return call


def _stop_others(process: int, waiting: int) -> None:
    """All threads but the one that waits for its call.

    A signal to the process may be given to that one, who would stop the others when it goes on.
    """
    for thread in map(int, os.listdir(f"/proc/{process}/task")):
        if thread != waiting:
            kernel.signal_thread(process, thread, signal.SIGSTOP)
