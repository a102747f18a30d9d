"""A file that is replaced whole, many times, without a sync: for what can be made again.

A reader, and a process that comes after a kill, finds the old content or the new one, never a part.
After a power loss it may hold anything, and after a late write of a run that has been taken over
what that run knew: nothing may rely on it. Replacing it costs no sync, and no flush of the data
either, which a rename onto an existing file starts: the new content goes into a spare file beside
it, the two swap their names (``renameat2`` with RENAME_EXCHANGE), and the old one is removed. Where
the system cannot swap, it is replaced by a rename.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

from checkpoint_runtime.state.durable import ALL_RECORDED, commit_error, write_all

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_SWAP = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


class SwappedFile:
    """One such file. Nothing is touched before the first :meth:`write`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._spare = path.with_name(f".{path.name}.spare")

    def content(self) -> bytes | None:
        """What it holds; None if it is not there or cannot be read."""
        try:
            return self.path.read_bytes()
        except OSError:
            return None

    def sweep(self) -> None:
        """Remove what a process left that was killed while it wrote.

        :raises CommitError: it cannot be removed.
        """
        try:
            os.unlink(self._spare)
        except FileNotFoundError:
            return
        except OSError as error:
            raise commit_error("remove", self._spare, error, 0, therefore=ALL_RECORDED) from error

    def write(self, content: bytes) -> None:
        """
        :raises CommitError: it could not be written. The file is as before.
        """
        try:
            self._write_spare(content)
            if _swapped(self._spare, self.path):
                os.unlink(self._spare)
            else:
                os.replace(self._spare, self.path)
        except OSError as error:
            raise commit_error(
                "write", self.path, error, len(content), therefore=ALL_RECORDED
            ) from error

    def _write_spare(self, content: bytes) -> None:
        # A new file each time: whoever still reads the old one reads it to its end.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(self._spare, flags, 0o644)
        except FileExistsError:  # a process was killed while it wrote one
            os.unlink(self._spare)
            descriptor = os.open(self._spare, flags, 0o644)
        try:
            write_all(descriptor, content)
        finally:
            os.close(descriptor)


def _swapped(one: Path, other: Path) -> bool:
    """Whether the two files have exchanged their names."""
    if _renameat2 is None or not other.exists():
        return False
    if (
        _renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
        == 0
    ):
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_SWAP:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _found() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28, musl 1.2.6


_renameat2 = _found()
