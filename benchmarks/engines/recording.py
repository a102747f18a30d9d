"""What recording costs the job that is recorded: the same job bare and recorded, in turns."""

from __future__ import annotations

import os
import select
import statistics
import sys
import time
from pathlib import Path

from pytest_checkpoint.record import kernel, launch
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.request import Request

CALLS = """
import os, sys
folder = sys.argv[1]
data = b"x" * 4096
for number in range(2000):
    descriptor = os.open(folder + "/new", os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace(folder + "/new", folder + "/state")
"""
COMPUTES = """
import os, sys, time
folder = sys.argv[1]
for step in range(20):
    until = time.process_time() + 0.05
    while time.process_time() < until:
        sum(range(1000))
    with open(folder + "/new", "wb") as file:
        file.write(b"x" * 100_000)
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder + "/new", folder + "/state")
"""


def ratio(program: str, rounds: int, base: Path) -> tuple[float, float, float]:
    """Wall seconds bare, wall seconds recorded, and the median of the rounds' ratios."""
    bare: list[float] = []
    recorded: list[float] = []
    with SlotClient(base) as client:
        surroundings = environment(client, keep_tmpdir=False)

        def took(recording: str | None) -> float:
            for leftover in client.workspace.iterdir():
                leftover.unlink()
            request = Request(
                command=(sys.executable, "-I", "-S", "-c", program, str(client.workspace)),
                working_directory=str(client.path),
                environment=surroundings,
                deadline_s=600,
                filtered=recording is not None,
                recording=recording,
            )
            result = client.run(request)
            if result.exit_code:
                raise RuntimeError(result.error_output)
            return result.wall_s

        for _ in range(rounds):
            bare.append(took(None))
            recorded.append(took(str(client.scratch / "recording")))
    ratios = [after / before for before, after in zip(bare, recorded, strict=True)]
    return statistics.median(bare), statistics.median(recorded), statistics.median(ratios)


def least(program: str, rounds: int, base: Path) -> float:
    """The same ratio, of runs whose calls are stopped and let through, and nothing else is done.

    What no supervisor in Python comes below: of what recording costs, that part is stopping.
    """
    ratios = []
    for _ in range(rounds):
        bare = _let_through(program, base, filtered=False)
        ratios.append(_let_through(program, base, filtered=True) / bare)
    return statistics.median(ratios)


def _let_through(program: str, base: Path, *, filtered: bool) -> float:
    """Wall seconds."""
    request = Request(
        command=(sys.executable, "-I", "-S", "-c", program, str(base)),
        working_directory=str(base),
        environment=dict(os.environ),
        deadline_s=600,
        filtered=filtered,
        recording=None,
    )
    begun = time.monotonic()
    started = launch.start(request, {})
    try:
        if started.listener is not None:
            listener = kernel.Listener(started.listener)
            poller = select.poll()
            poller.register(started.listener, select.POLLIN)
            while all(happened & select.POLLIN for _, happened in poller.poll()):
                notification = listener.receive()
                if notification is not None:
                    listener.let_through(notification)
        _, status = os.waitpid(started.process, 0)
    finally:
        started.close()
    if status:
        raise RuntimeError(f"the job ends with status {status}")
    return time.monotonic() - begun
