"""Signals reach the job's own processes only; what else they were meant for is told."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_checkpoint.record import family
from pytest_checkpoint.record.belonging import Belonging
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.reply import Fails, PassOn
from pytest_checkpoint.record.syscalls import native
from tests.kit.record.conftest import Runner

_CALLS = """
import signal
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(number, *arguments):
        raise OSError(ctypes.get_errno(), "")
info = ctypes.create_string_buffer(128)
code = (-1).to_bytes(4, "little", signed=True)
info.raw = (15).to_bytes(4, "little") + bytes(4) + code + bytes(116)
"""


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else's, in a group of its own; it must survive."""
    program = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program, "other"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.poll() is None


def numbers() -> str:
    names = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
    return repr([native().numbers[name] for name in names])


_EACH = """
KILL, TKILL, TGKILL, QUEUE, TGQUEUE, PIDFD = {numbers}
def each(target):
    yield lambda: call(KILL, target, 15)
    yield lambda: call(KILL, -os.getpgid(target), 15)
    yield lambda: call(TKILL, target, 15)
    yield lambda: call(TGKILL, target, target, 15)
    yield lambda: call(QUEUE, target, 15, info)
    yield lambda: call(TGQUEUE, target, target, 15, info)
    yield lambda: call(PIDFD, os.pidfd_open(target), 15, None, 0)
"""


def test_strangers_are_not_reached(runner: Runner, stranger: subprocess.Popen[bytes]) -> None:
    source = _CALLS + _EACH.format(numbers=numbers())
    outcome = runner.ok(
        source
        + f"""
for one in each({stranger.pid}):
    raises(errno.EPERM, one)
raises(errno.EPERM, os.kill, -1, 15)
raises(errno.EPERM, os.kill, os.getppid(), 12)
os.kill({stranger.pid}, 0)
"""
    )
    first, every, parent = outcome.result.strayed
    assert first.startswith(f"SIGTERM to {stranger.pid} (")
    assert f"{Path(sys.executable).name} -I -c import sys" in first
    assert every == "SIGTERM to every process"
    assert parent.startswith("SIGUSR2 to ")


def test_its_own_are_reached(runner: Runner) -> None:
    source = _CALLS + _EACH.format(numbers=numbers())
    outcome = runner.ok(
        source
        + """
for number in range(7):
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, start_new_session=True)
    list(each(child.pid))[number]()
    assert child.wait() == -15, number
seen = []
signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
signal.raise_signal(15); os.kill(os.getpid(), 15); os.kill(0, 15)
assert len(seen) == 3
raises(errno.ESRCH, os.kill, child.pid, 15)
raises(errno.ESRCH, os.killpg, child.pid, 15)
"""
    )
    assert outcome.result.strayed == ()


def test_a_grandchild_whose_parent_has_ended_is_its_own(runner: Runner) -> None:
    outcome = runner.shell("(sleep 60 & echo $! > pid); kill -9 $(cat pid)")
    assert (outcome.result.exit_code, outcome.result.strayed) == (0, ())


def test_bystanders_are_reached_and_it_is_told(runner: Runner) -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, start_new_session=True) as bystander:
        outcome = runner.shell(f"kill {bystander.pid}", bystanders=(bystander.pid,))
        assert bystander.wait(10) == -15
    assert outcome.result.strayed == (f"SIGTERM to {bystander.pid} (/bin/cat)",)


def test_who_ends_meanwhile_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody waits for it after it was found, and before it is asked whose it is."""
    caller, belonging = Caller(os.getpid()), Belonging()
    child = subprocess.Popen(["/bin/true"], start_new_session=True)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    def is_below(process: int, spared: set[int]) -> bool:
        child.wait()
        return False

    monkeypatch.setattr(family, "is_below", is_below)
    with pytest.raises(Fails) as failed:
        belonging.to_process(caller, child.pid, signal.SIGTERM)
    assert failed.value.error == errno.ESRCH
    monkeypatch.setattr(family, "group", lambda number: [child.pid])
    with pytest.raises(PassOn):
        belonging.to_group(caller, child.pid, signal.SIGTERM)
    assert belonging.strays == []
