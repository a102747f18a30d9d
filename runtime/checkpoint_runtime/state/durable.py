"""The few ways in which bytes reach the disk for good, and what an error of them says."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from checkpoint_runtime.errors import CommitError
from checkpoint_runtime.state import early

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, *_NO_ROOM})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """One write, unless the kernel takes only a part (beyond 2 GiB, or shortly before ENOSPC)."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: Path) -> None:
    """Create a directory and those above it that are missing; their names are durable on return.

    :raises OSError: as :func:`os.mkdir`; FileExistsError if something else has the name.
    """
    missing: list[Path] = []
    there = path
    while not there.is_dir():
        missing.append(there)
        if there == there.parent:
            break
        there = there.parent
    if missing:
        sync_name(there)
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)


def sync_name(path: Path) -> None:
    """Make durable the name of a directory that exists already.

    It may have been made by a process that was killed before it could do that.
    """
    try:
        sync_directory(path.parent)
    except PermissionError:
        # A folder that may not be read, only gone through, like some hold the homes of all users:
        # whoever made this name in it has seen to it.
        return


def write_new_file(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file whose name nobody knows yet: its data is durable on return.

    Its name is once its directory has been synced. A file of that name, left there by a crash, is
    removed first: what a failed sync of it left in the cache would pass for written. No rename is
    needed: whoever is told the name later finds the file whole.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except FileExistsError:
        path.unlink()
        descriptor = os.open(path, flags, 0o644)
    try:
        for chunk in chunks:
            first, *second = early.halves(chunk)
            write_all(descriptor, first)
            for half in second:
                early.send(descriptor)
                write_all(descriptor, half)
        os.fsync(descriptor)
    except BaseException as error:
        remove_half(path, error)
        raise
    finally:
        os.close(descriptor)


def remove_half(path: Path, error: BaseException) -> None:
    """Give back the room that half a file takes: it may be what the next commit needs."""
    try:
        os.unlink(path)
    except OSError as another:
        error.add_note(f"what was written of {path} could not be removed: {another.strerror}")


NOT_RECORDED: Final = "What was to be recorded is not; the state is as before."
ALL_RECORDED: Final = "What is recorded as done stays done; this is made up for by the next run."


def commit_error(
    verb: str, path: Path, error: OSError, needed_bytes: int, *, therefore: str = NOT_RECORDED
) -> CommitError:
    """What to say of an error while writing: with the room that was needed, if there was none.

    :param therefore: what it means for what is recorded.
    """
    problem = f"cannot {verb}: {error.strerror or error}"
    if error.errno not in _NO_ROOM:
        return CommitError(path, f"{problem}. {therefore}")
    free_bytes = _free_bytes(path.parent)
    return CommitError(
        path,
        f"{problem}: {needed_bytes:,} bytes are needed, {free_bytes:,} are free. {therefore} "
        "Make room, then resume.",
        needed_bytes=needed_bytes,
        free_bytes=free_bytes,
    )


def _free_bytes(folder: Path) -> int:
    try:
        room = os.statvfs(folder)
    except OSError:
        return 0
    return room.f_bavail * room.f_frsize
