"""Where a thread runs while a descriptor is handed to it, and that it cannot tell afterwards."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.one_core import NOWHERE, STAY_MOST_S, OneCore

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

EVERYWHERE = os.sched_getaffinity(0)


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its input to end."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


@pytest.fixture(autouse=True)
def everywhere_again() -> Iterator[None]:
    yield
    os.sched_setaffinity(0, EVERYWHERE)


@pytest.mark.skipif(len(EVERYWHERE) == 1, reason="there is one core only")
def test_both_are_kept_on_our_core_and_let_go_again(waiting: subprocess.Popen[bytes]) -> None:
    one_core = OneCore()
    for _ in range(2):
        theirs = one_core.enter(waiting.pid)
        assert _stays(one_core)
        assert len(os.sched_getaffinity(0)) == 1
        assert os.sched_getaffinity(waiting.pid) == os.sched_getaffinity(0)
        one_core.leave(waiting.pid, theirs)
        assert os.sched_getaffinity(waiting.pid) == EVERYWHERE
        one_core.go()
        assert not _stays(one_core)
        assert os.sched_getaffinity(0) == EVERYWHERE


@pytest.mark.skipif(len(EVERYWHERE) == 1, reason="there is one core only")
def test_where_somebody_else_puts_the_thread_meanwhile_it_stays(
    waiting: subprocess.Popen[bytes],
) -> None:
    one_core = OneCore()
    theirs = one_core.enter(waiting.pid)
    elsewhere = {min(EVERYWHERE - os.sched_getaffinity(0))}
    os.sched_setaffinity(waiting.pid, elsewhere)
    one_core.leave(waiting.pid, theirs)
    assert os.sched_getaffinity(waiting.pid) == elsewhere
    one_core.go()


@pytest.mark.skipif(len(EVERYWHERE) == 1, reason="there is one core only")
@pytest.mark.parametrize("passes_s", [0.0, STAY_MOST_S])
def test_we_stay_for_a_while_and_no_longer(
    passes_s: float, waiting: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    one_core = OneCore()
    theirs = one_core.enter(waiting.pid)
    now += passes_s
    one_core.leave(waiting.pid, theirs)
    assert one_core.is_kept == (passes_s == 0)
    assert len(os.sched_getaffinity(0)) == (len(EVERYWHERE) if passes_s else 1)
    one_core.go()
    assert os.sched_getaffinity(0) == EVERYWHERE


@pytest.mark.skipif(len(EVERYWHERE) == 1, reason="there is one core only")
def test_for_a_thread_that_runs_elsewhere_we_do_not_stay(
    waiting: subprocess.Popen[bytes],
) -> None:
    one_core = OneCore()
    one_core.leave(waiting.pid, one_core.enter(waiting.pid))
    (here,) = os.sched_getaffinity(0)
    os.sched_setaffinity(waiting.pid, EVERYWHERE - {here})
    assert one_core.enter(waiting.pid) is NOWHERE
    assert os.sched_getaffinity(waiting.pid) == EVERYWHERE - {here}
    assert os.sched_getaffinity(0) == EVERYWHERE


def _stays(one_core: OneCore) -> bool:
    return one_core.is_kept


def test_on_the_only_core_nothing_is_to_be_done(waiting: subprocess.Popen[bytes]) -> None:
    os.sched_setaffinity(0, {min(EVERYWHERE)})
    one_core = OneCore()
    one_core.leave(waiting.pid, one_core.enter(waiting.pid))
    assert os.sched_getaffinity(0) == {min(EVERYWHERE)}
    assert os.sched_getaffinity(waiting.pid) == EVERYWHERE


@pytest.mark.parametrize("refused", ["ours", "theirs"])
def test_where_it_is_not_allowed_nothing_changes(
    refused: str, waiting: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = os.sched_setaffinity

    def set_affinity(process: int, cores: set[int]) -> None:
        if (refused == "ours") == (process == 0) and len(cores) == 1:
            raise PermissionError
        allowed(process, cores)

    one_core = OneCore()
    monkeypatch.setattr(os, "sched_setaffinity", set_affinity)
    assert one_core.enter(waiting.pid) is NOWHERE
    assert os.sched_getaffinity(waiting.pid) == os.sched_getaffinity(0) == EVERYWHERE


def test_a_thread_that_is_killed_meanwhile(waiting: subprocess.Popen[bytes]) -> None:
    one_core = OneCore()
    theirs = one_core.enter(waiting.pid)
    waiting.kill()
    waiting.wait()
    one_core.leave(waiting.pid, theirs)
    assert one_core.enter(waiting.pid) is NOWHERE
    assert os.sched_getaffinity(0) == EVERYWHERE


@pytest.mark.skipif(len(EVERYWHERE) == 1, reason="there is one core only")
def test_the_supervisor_goes_when_nothing_comes_any_more(runner: Runner) -> None:
    runner.ok(
        """
import time
everywhere, until = os.sched_getaffinity(0), time.monotonic() + 20
put("a")
while os.sched_getaffinity(os.getppid()) != everywhere:
    assert time.monotonic() < until
"""
    )


def test_a_job_that_is_recorded_runs_where_it_wants_to(runner: Runner) -> None:
    runner.ok(
        """
import threading
everywhere = os.sched_getaffinity(0)
def work(name, cores):
    os.sched_setaffinity(0, cores)  # of this thread
    for number in range(20):
        put(f"{name}-{number}")
        assert os.sched_getaffinity(0) == cores
threads = [threading.Thread(target=work, args=(core, {core})) for core in everywhere]
[thread.start() for thread in threads]
work("all", everywhere)
[thread.join() for thread in threads]
assert len(os.listdir()) == 20 * (len(everywhere) + 1), os.listdir()
"""
    )
