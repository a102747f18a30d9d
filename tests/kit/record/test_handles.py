"""What is remembered of threads means those that live now."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from pytest_checkpoint.record.handles import Handles


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its input to end."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a thread was asked whether it lives."""
    asked: list[int] = []
    ask = signal.pidfd_send_signal

    def send(descriptor: int, number: int) -> None:
        asked.append(number)
        ask(descriptor, number)

    monkeypatch.setattr(signal, "pidfd_send_signal", send)
    return asked


def test_a_child_keeps_its_number_until_it_is_waited_for(
    child: subprocess.Popen[bytes], signals: list[int]
) -> None:
    handles = Handles(child.pid)
    for _ in range(3):
        assert handles.process(child.pid) == child.pid
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert handles.process(child.pid) == child.pid
    assert signals == []
    child.wait()
    handles.waited_for(child.pid)
    assert handles.process(child.pid) == child.pid  # there is nobody: the number itself
    assert signals == [0]
    handles.close()


def test_others_are_asked_each_time(child: subprocess.Popen[bytes], signals: list[int]) -> None:
    handles = Handles()
    for _ in range(3):
        assert handles.process(child.pid) == child.pid
    assert signals == [0, 0]
    handles.close()


def test_who_is_no_child_of_ours_is_not_certain(signals: list[int]) -> None:
    parent = os.getppid()
    handles = Handles(parent)
    for _ in range(3):
        assert handles.process(parent) == parent
    assert signals == [0, 0]
    handles.close()
