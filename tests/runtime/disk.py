"""The calls by which the runtime changes files, counted, made to fail, or the last ones ever made.

What lies on the disk when a :class:`Crash` comes out of a call is what a kill at that moment
leaves: the runtime catches no such thing, and on the way out the disk takes no further call.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from checkpoint_runtime.state import swapped_file

CALLS = (
    "open", "write", "pwrite", "fsync", "fdatasync", "ftruncate", "mkdir", "unlink", "rmdir",
    "rename", "replace", "close",
)  # fmt: skip


class Crash(BaseException):
    """The process is gone."""


class Disk:
    """Counts calls. Crashes before one of them, or within a write, if it is asked to."""

    def __init__(self, *, crash_before: int | None = None, bytes_left: int | None = None) -> None:
        self.calls: Counter[str] = Counter()
        self.order: list[str] = []
        self.written_bytes = 0
        self._crash_before = crash_before
        self._bytes_left = bytes_left
        self._gone = False

    @property
    def count(self) -> int:
        return self.calls.total()

    def enter(self, call: str) -> None:
        if self._gone or self.count + 1 == self._crash_before:
            self._gone = True
            raise Crash
        self.calls[call] += 1
        self.order.append(call)

    def write(self, call: Callable[[int, Any], int], descriptor: int, data: Any) -> int:
        self.enter("write")
        part = data if self._bytes_left is None else data[: self._bytes_left]
        size = call(descriptor, part)
        self.written_bytes += size
        if self._bytes_left is not None:
            self._bytes_left -= size
            if size < len(data):
                self._gone = True
                raise Crash
        return size


@contextmanager
def on(disk: Disk) -> Iterator[Disk]:
    """Let the runtime's calls go through ``disk``. A crash ends the block, and nothing else."""

    def counted(name: str) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(os, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            # A descriptor is closed by a kill, too.
            if name != "close":
                disk.enter(name)
            return call(*args, **kwargs)

        return wrapper

    write, swap = os.write, swapped_file._renameat2
    assert swap is not None

    def counted_swap(*args: Any) -> int:
        disk.enter("swap")
        return int(swap(*args))

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted(name))
        patch.setattr(os, "write", lambda *args: disk.write(write, *args))
        patch.setattr(swapped_file, "_renameat2", counted_swap)
        try:
            yield disk
        except Crash:
            return


def failing(number: int) -> Callable[..., Any]:
    """A call that always fails."""

    def call(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return call


def full_after(size_bytes: int) -> Callable[[int, Any], int]:
    """``os.write`` on a disk with so much room left: a short write, then ENOSPC."""
    write, room = os.write, [size_bytes]

    def call(descriptor: int, data: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    return call
