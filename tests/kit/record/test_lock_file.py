"""A lock that says that something is in use, and is removed by whoever holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from pytest_checkpoint.record.lock_file import lock_file


def test_one_at_a_time(tmp_path: Path) -> None:
    lock = lock_file(tmp_path / "lock")
    assert lock is not None
    assert lock_file(tmp_path / "lock") is None

    os.close(lock)
    again = lock_file(tmp_path / "lock")

    assert again is not None
    os.close(again)


@pytest.mark.parametrize("comes_back", [False, True])
def test_one_that_is_removed_as_it_is_opened_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    """Its holder ends between the two calls, and perhaps another one comes."""
    path = tmp_path / "lock"
    locks: list[int] = []
    real = fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        if not locks:
            path.unlink()
            if comes_back:
                path.touch()
        locks.append(descriptor)
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = lock_file(path)

    assert lock is not None
    assert len(locks) == 2
    assert os.fstat(lock).st_ino == path.stat().st_ino
    os.close(lock)
