"""How steadily a worker beats, and how soon it is noticed that it does not.

``python benchmarks/liveness.py`` prints a table and exits 0 if every figure is within its bound:
the longest time between two beats while a call in C holds the GIL, while a checkpoint of 1 GB is
committed, and while every core has two busy loops; and the time from a SIGSTOP or SIGKILL until a
watcher says so. Times are on the clock of this process.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.liveness import Beat, Liveness, Looking
from checkpoint_runtime.liveness.heartbeat_file import read_beat

INTERVAL_S = 0.5
STALE_AFTER_S = 2.0
_DEADLINE_S = 600.0
_LOOKS_EVERY_S = 0.005
_BUSY = "while True: pass"
_WORKER = """
import ctypes, select, sys
from checkpoint_runtime import Pipeline

workspace, interval_s, what, amount = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
job = Pipeline("job")

@job.stage
def begin(context):
    return None

@job.stage
def work(context):
    if what == "gil":
        ctypes.PyDLL(None).usleep(amount)
    elif what == "wait":
        select.select([], [], [], amount)
    else:
        return bytes(amount)

@job.stage
def end(context):
    return None

job.run(workspace, heartbeat_s=interval_s)
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    what: str
    seconds: float
    bound_s: float
    note: str = ""

    @property
    def is_within(self) -> bool:
        return self.seconds <= self.bound_s


@contextmanager
def worker(workspace: Path, what: str, amount: int) -> Iterator[subprocess.Popen[bytes]]:
    """A job whose second stage does that."""
    arguments = [sys.executable, "-c", _WORKER, str(workspace), str(INTERVAL_S), what, str(amount)]
    with subprocess.Popen(arguments) as process:
        try:
            _until(lambda: _stage(workspace) is not None)
            yield process
        finally:
            process.kill()


def longest_gap(workdir: Path, what: str, amount: int) -> tuple[float, str]:
    """The longest time between two beats while a job does that, and what else there is to say."""
    with tempfile.TemporaryDirectory(dir=workdir) as folder:
        workspace = Path(folder) / "w"
        with worker(workspace, what, amount) as process:
            seen, changed_s, longest_s, beats = _number(workspace), time.monotonic(), 0.0, 0
            begun_s = changed_s
            while process.poll() is None:
                _wait(_LOOKS_EVERY_S)
                number = _number(workspace)
                if number != seen:
                    longest_s = max(longest_s, time.monotonic() - changed_s)
                    seen, changed_s, beats = number, time.monotonic(), beats + 1
            if process.returncode:
                raise SystemExit(f"the job ended with code {process.returncode}")
        return longest_s, f"{beats} beats in {time.monotonic() - begun_s:.1f} s"


def detection(workdir: Path, number: signal.Signals) -> float:
    """How long a watcher takes to notice a signal that ends the beats."""
    with tempfile.TemporaryDirectory(dir=workdir) as folder:
        workspace = Path(folder) / "w"
        with worker(workspace, "wait", 300) as process:
            looking = Looking([workspace], stale_after_s=STALE_AFTER_S)
            _until(lambda: looking.look()[0].decided, looking.every_s)
            process.send_signal(number)
            begun_s = time.monotonic()
            _until(lambda: looking.look()[0].liveness is Liveness.STALE, looking.every_s)
            return time.monotonic() - begun_s


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that only compute."""
    processes = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def beater_cpu(workdir: Path) -> tuple[float, float]:
    """The CPU that the beating process takes: to start and beat once, and for a further beat."""
    with tempfile.TemporaryDirectory(dir=workdir) as folder:
        workspace = Path(folder) / "w"
        with worker(workspace, "wait", 300) as process:
            _until(lambda: _number(workspace) > 1)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            first, begun_s = _number(workspace), _cpu_s(int(children[0]))
            _until(lambda: _number(workspace) >= first + 20)
            return begun_s, (_cpu_s(int(children[0])) - begun_s) / 20


def figures(workdir: Path, size_bytes: int) -> Iterator[Figure]:
    """Every row, as it is measured."""
    bound_s = 2 * INTERVAL_S
    """Two beats overdue: before that nobody is called stale."""
    gap_s, note = longest_gap(workdir, "gil", 10_000_000)
    yield Figure("longest gap, GIL held for 10 s", gap_s, bound_s, note)
    gap_s, note = longest_gap(workdir, "bytes", size_bytes)
    yield Figure(f"longest gap, {size_bytes / 2**30:.2g} GiB committed", gap_s, bound_s, note)
    loops = 2 * (os.cpu_count() or 1)
    with busy(loops):
        gap_s, note = longest_gap(workdir, "wait", 10)
    yield Figure(f"longest gap, {loops} busy loops", gap_s, bound_s, note)
    look_s = Looking([workdir], stale_after_s=STALE_AFTER_S).every_s
    for number, longest_s in (
        (signal.SIGSTOP, STALE_AFTER_S + INTERVAL_S + look_s),
        (signal.SIGKILL, 2 * look_s),
    ):
        yield Figure(f"{number.name} until it is stale", detection(workdir, number), longest_s)
    begun_s, each_s = beater_cpu(workdir)
    yield Figure("CPU of the beating process, at first", begun_s, 0.05)
    yield Figure("CPU of a beat", each_s, 0.005)


def main() -> int:
    """Measure, print, and say whether all is within its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workdir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--size-bytes", type=int, default=2**30, help="of the checkpoint")
    given = parser.parse_args()
    print(f"a beat every {INTERVAL_S} s, stale after {STALE_AFTER_S} s; times in seconds")
    found = []
    for figure in figures(given.workdir, given.size_bytes):
        found.append(figure)
        mark = "" if figure.is_within else "  TOO LONG"
        print(
            f"{figure.what:40} {figure.seconds:8.4f}  bound {figure.bound_s:7.3f}  "
            f"{figure.note}{mark}".rstrip(),
            flush=True,
        )
    return 0 if all(figure.is_within for figure in found) else 1


def _beat(workspace: Path) -> Beat | None:
    found = read_beat(workspace, "main")
    return found if isinstance(found, Beat) else None


def _number(workspace: Path) -> int:
    beat = _beat(workspace)
    return 0 if beat is None else beat.number


def _stage(workspace: Path) -> str | None:
    beat = _beat(workspace)
    return None if beat is None else beat.stage


def _cpu_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
    return int(ticks) / 1e9


def _until(is_so: Callable[[], bool], every_s: float = _LOOKS_EVERY_S) -> None:
    deadline_s = time.monotonic() + _DEADLINE_S
    while not is_so():
        if time.monotonic() > deadline_s:
            raise SystemExit(f"it did not happen within {_DEADLINE_S:g} s")
        _wait(every_s)


def _wait(time_s: float) -> None:
    # A look every now and then is what is measured: no event tells of a file.
    select.select([], [], [], time_s)


if __name__ == "__main__":
    sys.exit(main())
