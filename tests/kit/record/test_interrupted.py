"""Children end at any time: what the supervisor does for a call meanwhile is not given up."""

from __future__ import annotations

import ctypes
import errno
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.one_core import OneCore


def test_answers_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer waits for the lock that calls take as they stop, and a signal ends the wait."""
    asked: Counter[int] = Counter()

    def ioctl(descriptor: int, request: int, argument: object) -> int:
        asked[request] += 1
        if asked[request] % 2:
            raise InterruptedError(errno.EINTR, "interrupted")
        return 7

    monkeypatch.setattr(kernel.Listener, "__init__", lambda self: None)
    monkeypatch.setattr(kernel, "fcntl", SimpleNamespace(ioctl=ioctl))
    listener = kernel.Listener()  # type: ignore[call-arg]
    listener.descriptor, listener._uninterrupted = -1, False
    listener.one_core = OneCore()
    call = kernel.Notification(1, os.getpid(), 0, ())
    listener.answer(call, 0)
    assert listener.answer_descriptor(call, os.open(".", os.O_RDONLY), close_on_exec=True) == 0
    assert list(asked.values()) == [2, 2]


def test_room_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = [-1, 0]

    def fallocate(*arguments: object) -> int:
        ctypes.set_errno(errno.EINTR)
        return results.pop(0)

    monkeypatch.setattr(kernel, "_libc", SimpleNamespace(fallocate=fallocate))
    kernel.fallocate(-1, 0, 0, 1)
    assert results == []
