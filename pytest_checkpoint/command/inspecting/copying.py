"""A copy of a whole directory: names, types, modes, times, links, attributes, holes.

The structure is read and written by the kit's own tree modules, without contents, which may be too
large for memory; the files are then filled one by one, by reference where the file system can.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_checkpoint.command.inspecting.footprint import Footprint
from pytest_checkpoint.command.inspecting.sizes import size
from pytest_checkpoint.errors import HarnessError, UserError
from pytest_checkpoint.tree.capture import capture, data_ranges
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File, NodeId, printable
from pytest_checkpoint.tree.restore import restore

_FICLONE: Final = 0x40049409
_PIECE_BYTES: Final = 16 << 20
_NOT_HERE: Final = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY)
"""Errors that say: not on this file system, or not between these two."""

Copied = Callable[[int], None]
"""Told how many bytes were copied so far."""


def require_room(original: Path, wanted: Footprint, workdir: Path) -> None:
    """Raise :class:`UserError` if a copy would not fit."""
    status = os.statvfs(workdir)
    if status.f_files and status.f_favail <= len(wanted.stamps):  # some file systems have no limit
        raise UserError(
            f"the copy needs {len(wanted.stamps):,} inodes, and {workdir} has "
            f"{status.f_favail:,} free: name another directory by --workdir"
        )
    free = shutil.disk_usage(workdir).free
    if free > wanted.data_bytes or _can_clone(original, wanted, workdir):
        return
    raise UserError(
        f"the copy needs {size(wanted.data_bytes)}, and {workdir} has {size(free)} free: name a "
        "directory with more room by --workdir"
    )


def _can_clone(original: Path, wanted: Footprint, workdir: Path) -> bool:
    """Whether files can be copied there by reference, which takes no room: tried with one."""
    paths = (path for path, stamp in wanted.stamps.items() if stamp.is_file and stamp.size)
    path = next(paths, None)
    if path is None or os.stat(original).st_dev != os.stat(workdir).st_dev:
        return False
    with (
        tempfile.TemporaryFile(dir=workdir) as target,
        open(os.path.join(os.fsencode(original), path), "rb") as source,
    ):
        return _clone(source.fileno(), target.fileno())


def copy_tree(original: Path, target: Path, copied: Copied) -> None:
    """Make ``target``, which exists, hold what ``original`` does, and nothing else.

    Raises :class:`UserError` if something cannot be read, or there is no room.
    """
    try:
        image = capture(original, content=False).image
        restore(image, target)
        done: set[NodeId] = set()
        total = 0
        for path, number, node in walk(image):
            if isinstance(node, File) and number not in done:
                done.add(number)
                source = os.path.join(os.fsencode(original), path)
                total = _fill(source, os.path.join(os.fsencode(target), path), node, total, copied)
    except (HarnessError, OSError) as error:
        raise UserError(f"{original} cannot be copied to {target}: {_why(error)}") from error


def _why(error: HarnessError | OSError) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    if error.errno == errno.ENOSPC:
        return "there is no room left there; name a directory with more room by --workdir"
    place = printable(error.filename) if isinstance(error.filename, bytes) else error.filename
    return f"{place}: {error.strerror}" if place else str(error.strerror)


def _fill(source: bytes, target: bytes, node: File, total: int, copied: Copied) -> int:
    """Give one empty file its bytes, and its mode and times again. Returns the new total."""
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        length = os.fstat(reading).st_size
        if not length:
            return total
        os.chmod(target, 0o600)
        writing = os.open(target, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _clone(reading, writing):
                for start, end in data_ranges(source):
                    total = _copy_range(reading, writing, start, end, total, copied)
                os.ftruncate(writing, length)
            os.fchmod(writing, node.mode)
            os.utime(writing, ns=(node.mtime_ns, node.mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return total


def _clone(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno in _NOT_HERE:
            return False
        raise
    return True


def _copy_range(
    reading: int, writing: int, start: int, end: int, total: int, copied: Copied
) -> int:
    while start < end:
        count = _copy_piece(reading, writing, start, min(end - start, _PIECE_BYTES))
        if not count:
            break  # it has become shorter: that is told when all is copied
        start += count
        total += count
        copied(total)
    return total


def _copy_piece(reading: int, writing: int, start: int, length: int) -> int:
    """In the kernel where it can; how many bytes were copied."""
    try:
        return os.copy_file_range(reading, writing, length, start, start)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    piece = os.pread(reading, length, start)
    rest = memoryview(piece)
    while rest:
        rest = rest[os.pwrite(writing, rest, start + len(piece) - len(rest)) :]
    return len(piece)
