"""A signal at a step: before the caller goes on, once, to whom it belongs; and the end of grace."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.faults import SignalAt
from tests.kit.record.warm import QUICK, script

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner

LONG_S = 30.0
WARM = pytest.mark.parametrize("warm", [False, True], ids=["fresh", "warm"])
PREAMBLE = """
import os, signal, sys, time
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
def say(text):
    os.write(1, (text + "\\n").encode())
"""
COUNTER = """
told = []
def handler(number, frame):
    told.append(number)
    say(f"{signal.Signals(number).name} after {done}")
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, handler)
done = 0
def did():
    global done
    done += 1
for i in range(3):
    os.close(os.open("f", os.O_WRONLY | os.O_CREAT)); did()
    os.rename("f", "g"); did()
    with open(os.environ["CHECKPOINT_EVENTS"], "a") as events:
        events.write("an event\\n")
        events.flush(); did()
    os.unlink("g"); did()
say(f"{len(told)} in all")
"""


def run(
    runner: Runner, name: str, text: str, *, warm: bool = False, signal: SignalAt, **options: Any
) -> Outcome:
    command = (*QUICK, script(runner, PREAMBLE + text, f"{name}.py"))
    outcome = runner.run(*command, warm=warm, signal=signal, **options)
    assert outcome.differences == []
    assert (outcome.result.warm is not None) is warm
    assert (outcome.result.problem, outcome.result.timed_out) == (None, False)
    return outcome


def at(step: int, number: int = signal.SIGTERM, grace_s: float = LONG_S) -> SignalAt:
    return SignalAt(step=step, number=number, grace_s=grace_s)


@WARM
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_it_comes_once_before_the_next_operation(runner: Runner, warm: bool, number: int) -> None:
    """The handler runs when the call returns: the operation has been done and not yet counted."""
    name = signal.Signals(number).name
    for step in (1, 2, 3, 8, 12):
        outcome = run(runner, "counter", COUNTER, warm=warm, signal=at(step, number))
        assert outcome.result.output.splitlines() == [f"{name} after {step - 1}", "1 in all"]
        assert (outcome.result.exit_code, outcome.result.fired_at) == (0, step)
        assert (outcome.result.steps, outcome.result.grace_over) == (12, False)


def test_a_step_that_is_not_reached(runner: Runner) -> None:
    outcome = run(runner, "counter", COUNTER, signal=at(13))
    assert (outcome.result.output, outcome.result.fired_at) == ("0 in all\n", None)


@WARM
def test_who_does_not_handle_sigterm_ends_there(runner: Runner, warm: bool) -> None:
    text = "for i in range(3):\n    os.close(os.open(str(i), os.O_WRONLY | os.O_CREAT))"
    result = run(runner, "plain", text, warm=warm, signal=at(2)).result
    assert (result.exit_code, result.signal, result.steps) == (None, signal.SIGTERM, 2)
    assert (result.fired_at, result.grace_over) == (2, False)


@WARM
def test_sigint_raises_as_in_a_terminal(runner: Runner, warm: bool) -> None:
    """Python's own handler is in place; what nobody catches ends the process by the signal."""
    text = """
try:
    for i in range(3):
        os.close(os.open(str(i), os.O_WRONLY | os.O_CREAT))
finally:
    say(repr(sys.exc_info()[0]))
"""
    result = run(runner, "interrupted", text, warm=warm, signal=at(2, signal.SIGINT)).result
    assert result.output == "<class 'KeyboardInterrupt'>\n"
    assert (result.exit_code, result.signal, result.steps) == (None, signal.SIGINT, 2)
    assert result.error_output.endswith("KeyboardInterrupt\n")


FAMILY = """
def hear(name):
    def handler(*_):
        say(f"{name} was told")
        heard.append(name)
    heard = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)
    return heard
def child(name, own_session):
    ready, go = os.pipe(), os.pipe()
    if not os.fork():
        if own_session:
            os.setsid()
        hear(name)
        os.write(ready[1], b".")
        os.close(go[1])
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    os.close(go[0])
    return go[1]
held = [child("child", False)]
held.append(child("own session", True))
heard = hear("root")
os.mkdir("d")
assert heard == ["root"]
for descriptor in held[::-1]:
    os.close(descriptor)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""


@WARM
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGTERM, ["root was told"]),
        (signal.SIGINT, ["child was told", "root was told"]),
    ],
    ids=["term", "int"],
)
def test_whom_it_goes_to(runner: Runner, warm: bool, number: int, told: list[str]) -> None:
    """SIGINT to the group of the root, as from a terminal; SIGTERM to the root alone."""
    outcome = run(runner, "family", FAMILY, warm=warm, signal=at(1, number))
    assert sorted(outcome.result.output.splitlines()) == told
    assert outcome.result.exit_code == 0, outcome.result.error_output


def test_it_is_the_root_that_is_told_whoever_makes_the_step(runner: Runner) -> None:
    text = """
heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
if not os.fork():
    os.mkdir("d")
    os._exit(0)
os.wait()
say(f"{len(heard)}")
"""
    assert run(runner, "whoever", text, signal=at(1)).result.output == "1\n"


@WARM
def test_everything_is_killed_when_the_grace_is_over(runner: Runner, warm: bool) -> None:
    text = """
signal.signal(signal.SIGTERM, lambda *_: say("no"))
if not os.fork():
    os.setsid()
    while True: signal.pause()
os.mkdir("d")
while True: signal.pause()
"""
    begun = time.monotonic()
    result = run(runner, "stubborn", text, warm=warm, signal=at(1, grace_s=0.3)).result
    assert 0.3 <= time.monotonic() - begun < LONG_S / 2
    assert (result.output, result.signal, result.grace_over) == ("no\n", signal.SIGKILL, True)
    assert (result.fired_at, result.killed_at) == (1, None)


def test_what_outlives_the_root_has_the_same_grace(runner: Runner) -> None:
    """A shell that is told does not tell the program that it runs."""
    text = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if not os.fork():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    while True: signal.pause()
os.mkdir("d")
"""
    result = run(runner, "outlived", text, signal=at(1, grace_s=0.3)).result
    assert (result.exit_code, result.grace_over, result.fired_at) == (143, True, 1)


def test_a_root_that_has_ended_is_not_told(runner: Runner) -> None:
    """Nor is anybody who may have its number by now: the step is made by what it left behind."""
    text = """
import select
gone = select.poll()
gone.register(os.pidfd_open(os.getpid()), select.POLLIN)
if not os.fork():
    gone.poll()
    os.mkdir("d"); os.mkdir("e")
    os._exit(0)
"""
    for number in (signal.SIGTERM, signal.SIGINT):
        result = run(runner, "gone", text, signal=at(1, number)).result
        assert (result.exit_code, result.fired_at, result.steps) == (0, None, 2)


def test_a_kernel_that_would_interrupt_the_call_itself(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was carried out, would say EINTR, and be made again: said, and not tried."""
    monkeypatch.setattr(
        "pytest_checkpoint.record.client._SERVER",
        "import sys; sys.path[:0] = [{path!r}]; "
        "from pytest_checkpoint.record import kernel; kernel.calls_wait_for_their_answer = bool; "
        "from pytest_checkpoint.record.server import main; main({descriptor})",
    )
    command = ("/bin/sh", "-c", 'echo x > "$CHECKPOINT_WORKSPACE/f"; sleep 60')
    request = runner.request(command, signal=at(1), recording=None)
    with SlotClient(tmp_path / "base") as client:
        result = client.run(request)
    assert result.problem is not None
    assert result.problem.startswith("Linux 5.19 or newer is needed to send a signal")
    assert (result.fired_at, result.signal) == (None, signal.SIGKILL)


def test_it_interrupts_no_call_of_another_thread(runner: Runner) -> None:
    """Whose turn has not come yet: its call is done afterwards, as a kernel alone would do it."""
    text = """
import threading
signal.signal(signal.SIGTERM, lambda *_: None)
def work(name):
    for _ in range(12):
        os.mkdir(name)
        os.rmdir(name)
threads = [threading.Thread(target=work, args=(f"d{i}",)) for i in range(3)]
[one.start() for one in threads]
work("main")
[one.join() for one in threads]
"""
    for step in range(10, 90, 5):
        result = run(runner, "threads", text, signal=at(step)).result
        assert (result.exit_code, result.steps) == (0, 96), result.error_output
        assert result.fired_at == step
