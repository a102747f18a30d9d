"""The few system calls that Python lacks; each raises OSError as those of ``os`` do."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

MS_RDONLY: Final = 1
MS_NODEV: Final = 4
MS_NOSUID: Final = 2
MS_NOATIME: Final = 1024
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2
_CLONE_NEWNS: Final = 0x00020000
_SYNC_FILE_RANGE_WRITE: Final = 2
_SYNC_FILE_RANGE_WAIT_AFTER: Final = 4

# A library that is already loaded; a blocked call does not hold the interpreter's lock.
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def private_mounts() -> None:
    """From here on this process and its children mount in a namespace of their own.

    It ends with the last of them, and all that was mounted in it, however they end.
    """
    _checked(_libc.unshare(_CLONE_NEWNS), "unshare")
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None), "/")


def mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    _checked(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        ),
        str(target),
    )


def unmount(target: Path, *, detach: bool = False) -> None:
    _checked(_libc.umount2(os.fsencode(target), _MNT_DETACH if detach else 0), str(target))


def start_writeback(descriptor: int, *, wait: bool) -> None:
    """Send a file's dirty pages to the device, without a flush and without its metadata."""
    flags = _SYNC_FILE_RANGE_WRITE | (_SYNC_FILE_RANGE_WAIT_AFTER if wait else 0)
    zero = ctypes.c_int64(0)
    _checked(_libc.sync_file_range(descriptor, zero, zero, ctypes.c_uint(flags)), "sync_file_range")


def sync_filesystem(descriptor: int) -> None:
    _checked(_libc.syncfs(descriptor), "syncfs")
