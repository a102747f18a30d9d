"""Real workers for the tests: processes that beat until they are told to end, by file or signal."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import checkpoint_runtime
from checkpoint_runtime.liveness import beater
from checkpoint_runtime.liveness.beat import Beat
from checkpoint_runtime.liveness.heartbeat_file import read_beat

DEADLINE_S = 30.0
INTERVAL_S = 0.05

_WORKER = """
import signal, sys, types
# Only what beats: the whole runtime takes several times as long to import.
package = types.ModuleType("checkpoint_runtime")
package.__path__ = [sys.argv[3]]
sys.modules["checkpoint_runtime"] = package
from checkpoint_runtime.liveness.heartbeat import Heartbeat

ends_at = int(sys.argv[4])
signal.pthread_sigmask(signal.SIG_BLOCK, [ends_at])
with Heartbeat(sys.argv[1], interval_s=float(sys.argv[2])) as heartbeat:
    heartbeat.stage("work", done=0, total=7)
    signal.sigwait([ends_at])
"""


@dataclass(frozen=True, slots=True)
class Worker:
    """One such process."""

    process: subprocess.Popen[bytes]
    workspace: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def beat(self) -> Beat:
        """The last one."""
        found = read_beat(self.workspace, "main")
        assert isinstance(found, Beat)
        return found

    @property
    def children(self) -> list[int]:
        text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    @property
    def beater(self) -> int:
        """The process that beats for it."""
        (beater,) = self.children
        return beater

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: (beater.look(self.pid) or "?")[0] == "T")

    def beats_again(self) -> None:
        before = self.beat.number
        until(lambda: self.beat.number > before)


@contextmanager
def started_worker(
    workspace: Path,
    interval_s: float = INTERVAL_S,
    beats: int = 2,
    *,
    ends_at: signal.Signals = signal.SIGUSR1,
) -> Iterator[Worker]:
    """A worker that has begun its stage, and beaten so often.

    :param ends_at: tells it to finish.
    """
    package = str(Path(checkpoint_runtime.__file__).parent)
    arguments = [sys.executable, "-c", _WORKER, str(workspace), str(interval_s), package]
    arguments.append(str(int(ends_at)))
    with subprocess.Popen(arguments) as process:
        try:
            worker = Worker(process, workspace)
            until(lambda: isinstance(read_beat(workspace, "main"), Beat))
            until(lambda: worker.beat.number >= beats)
            yield worker
        finally:
            process.kill()


def until(is_so: Callable[[], bool]) -> None:
    """Look until it is so, and fail if it does not become so."""
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        select.select([], [], [], 0.005)


def ends(pid: int) -> None:
    """Wait for the end of any process."""
    descriptor = os.pidfd_open(pid)
    try:
        assert select.select([descriptor], [], [], DEADLINE_S)[0], "it did not end in time"
    finally:
        os.close(descriptor)


def watched_for(time_s: float) -> None:
    """Let time go by, to see that something does not happen."""
    select.select([], [], [], time_s)
