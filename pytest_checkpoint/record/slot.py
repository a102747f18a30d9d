"""The directory that a subject's experiments happen in: always the same path, one at a time.

``BASE/0``, ``BASE/1`` … each with ``w`` (the workspace), ``t`` (TMPDIR), ``events``, ``effects``
and ``objects``; beside it ``0.scratch``, for recordings that nobody keeps, ``0.bodies``, the bytes
of objects, and ``0.store``, what the object store holds now. A lock file beside each says
that it is in use; it is held by the server, which outlives pytest by as long as the cleaning takes,
and so no other pytest can take a slot that is still being removed.
"""

from __future__ import annotations

import itertools
import os
import select
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.lock_file import lock_file

SLOTS: Final = 64
_WAIT_S: Final = 30.0
_POLL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Slot:
    path: Path
    number: int
    lock: int
    """Descriptor of the locked lock file."""

    def release(self) -> None:
        """Remove the slot, its lock, and the folders above it that are empty now."""
        remove_tree(self.path)
        for folder in (scratch_of(self.path), bodies_of(self.path), store_of(self.path)):
            remove_tree(folder)
        self._lock_path.unlink()
        os.close(self.lock)
        for folder in (self.path.parent, self.path.parent.parent):
            try:
                folder.rmdir()
            except OSError:
                return  # another slot or another subject lives there

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(f"{self.number}.lock")


def scratch_of(slot: Path) -> Path:
    return slot.with_name(f"{slot.name}.scratch")


def bodies_of(slot: Path) -> Path:
    return slot.with_name(f"{slot.name}.bodies")


def store_of(slot: Path) -> Path:
    return slot.with_name(f"{slot.name}.store")


def acquire(base: Path, number: int | None, lifeline: socket.socket) -> Slot:
    """Slot ``number``, waited for; or, if None, the first that nobody holds."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        for candidate in range(SLOTS) if number is None else (number,):
            lock = _lock(base, candidate)
            if lock is not None:
                slot = Slot(base / str(candidate), candidate, lock)
                try:
                    _make_fresh(slot)
                except OSError:
                    slot.release()
                    raise
                return slot
        if time.monotonic() >= deadline:
            which = "every slot" if number is None else f"slot {number}"
            raise HarnessError(
                f"{which} under {base} is in use by another pytest; wait for it to end"
            )
        _pause(lifeline)


def _pause(lifeline: socket.socket) -> None:
    """Wait a moment for the other pytest, unless our own goes away."""
    poller = select.poll()
    poller.register(lifeline, select.POLLRDHUP)
    if poller.poll(_POLL_MS):
        raise HarnessError("abandoned")


def _lock(base: Path, number: int) -> int | None:
    """The lock, or None if it is held."""
    while True:
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            return lock_file(base / f"{number}.lock")
        except FileNotFoundError:
            continue  # the folder was removed between the two calls


def _make_fresh(slot: Slot) -> None:
    path = slot.path
    for folder in (path, scratch_of(path), bodies_of(path), store_of(path)):
        remove_tree(folder)  # left behind if a server was killed
    for folder in (path, scratch_of(path)):
        folder.mkdir(mode=0o700)
    for name in ("w", "t"):
        (path / name).mkdir(mode=0o700)
    for name in ("events", "effects", "objects"):
        (path / name).touch(mode=0o600)


def remove_tree(path: Path) -> None:
    """Remove a directory and all in it, whatever modes and depth the job has given it.

    Directories are moved up to the top before they are emptied, so that neither the length of a
    path nor a recursion is a limit.
    """
    try:
        _make_open(path)
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        numbers = itertools.count()
        pending = [b"."]
        while pending:
            directory = pending.pop()
            pending += _empty(top, directory, numbers)
            if directory != b".":
                os.rmdir(directory, dir_fd=top)
    finally:
        os.close(top)
    path.rmdir()


def _empty(top: int, directory: bytes, numbers: Iterator[int]) -> list[bytes]:
    """Unlink the files of ``directory``, a name in ``top``; returns where its directories went."""
    moved = []
    here = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for name in map(os.fsencode, os.listdir(here)):
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=here)
                continue
            _make_open(name, here)
            target = b".removed-%d-%d" % (os.getpid(), next(numbers))
            os.rename(name, target, src_dir_fd=here, dst_dir_fd=top)
            moved.append(target)
    finally:
        os.close(here)
    return moved


def _make_open(directory: bytes | Path, parent: int | None = None) -> None:
    """Let its owner read, enter and change a directory."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(directory, flags, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
    finally:
        os.close(handle)
