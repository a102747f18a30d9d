"""A job's own processes are ended, and those of others beside it are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint_runtime.liveness import Heartbeat, Liveness, Watcher, read_workspace
from checkpoint_runtime.liveness.restarts import Restarts
from checkpoint_runtime.liveness.tree import Process, Tree, _send
from checkpoint_runtime.processes import start_ticks
from tests.runtime.liveness.workers import ends, until

PARENT = """
import subprocess, sys, signal
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "input()", "of the job"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
try:
    input()
finally:
    child.kill()
    child.wait()
"""


def of(pid: int) -> Process:
    ticks = start_ticks(pid)
    assert ticks is not None
    return Process(pid, ticks)


class Job:
    """A parent and its child."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.root = of(process.pid)
        self.child = of(int(process.stdout.readline()))


@pytest.fixture
def jobs() -> Iterator[tuple[Job, Job]]:
    """One that ends when it is told to, and one that does not hear."""
    with ExitStack() as stack:
        yield (started(stack), started(stack, "deaf"))


def started(stack: ExitStack, *arguments: str) -> Job:
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", PARENT, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
    )  # fmt: skip
    stack.callback(process.kill)
    return Job(process)


def test_it_ends_with_all_that_descend_from_it_and_nobody_else(jobs: tuple[Job, Job]) -> None:
    job, bystander = jobs
    tree = Tree((job.root,), None)
    assert tree.members() == {job.root, job.child}
    assert tree.end(30.0) == set()
    assert not job.root.is_there
    assert not job.child.is_there
    assert bystander.root.is_there
    assert bystander.child.is_there
    assert job.process.wait(30) == -signal.SIGTERM


def test_one_that_does_not_hear_is_killed_after_the_grace(jobs: tuple[Job, Job]) -> None:
    bystander, job = jobs
    assert Tree((job.root,), None).end(0.0) == set()
    assert not job.child.is_there
    assert job.process.wait(30) == -signal.SIGKILL
    assert bystander.root.is_there


def test_one_that_is_stopped_is_let_go_on_to_hear_of_it(jobs: tuple[Job, Job]) -> None:
    job, _ = jobs
    os.kill(job.process.pid, signal.SIGSTOP)
    assert Tree((job.root,), None).end(30.0) == set()
    assert job.process.wait(30) == -signal.SIGTERM


def test_another_process_of_its_number_is_not_touched(jobs: tuple[Job, Job]) -> None:
    job, _ = jobs
    earlier = job.root._replace(start_ticks=job.root.start_ticks - 1)
    _send(earlier, signal.SIGKILL)
    tree = Tree((earlier,), job.process.pid)
    assert not earlier.is_there
    assert tree.members() == set()
    assert tree.end(0.0) == set()
    assert job.root.is_there
    assert job.child.is_there


def test_what_a_job_of_ours_left_behind_is_its_own(tmp_path: Path) -> None:
    """Orphans of a job that this process started come to it; told by the job's session."""
    code = """
import os, signal, subprocess, sys
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from checkpoint_runtime.liveness.restarts import _adopt
from checkpoint_runtime.liveness.tree import Tree, ended_children
_adopt()
leaves = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid)"
bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
job = subprocess.Popen([sys.executable, "-c", leaves], start_new_session=True,
                       stdout=subprocess.PIPE)
orphan = int(job.stdout.readline())
job.wait()
tree = Tree((), job.pid)
print([process.pid for process in tree.members()] == [orphan], tree.end(30.0),
      bystander.poll(), ended_children({job.pid}) == [orphan], flush=True)
bystander.kill()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *sys.path],
        stdout=subprocess.PIPE, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "True set() None True\n"


def test_one_that_is_gone_needs_no_ending() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        root = of(process.pid)
        ends(process.pid)
        until(lambda: not root.is_there)  # a zombie by now
        assert Tree((root,), None).end(30.0) == set()


def test_a_watch_does_not_end_the_job_that_it_was_started_by(tmp_path: Path) -> None:
    notes: list[str] = []
    restarts = Restarts(["true"], budget=1, backoff_s=0, grace_s=0, note=notes.append)
    with Heartbeat(tmp_path, interval_s=60):
        (judged,) = Watcher(stalled_after_s=1).observe(read_workspace(tmp_path), 0.0)
        assert not restarts.make([replace(judged, liveness=Liveness.STALLED)])
        assert restarts.refused("main")
    assert notes == ["main is not started again: this watch was itself started by that job."]
