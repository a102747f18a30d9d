"""The kernel calls on mounts, namespaces and free space that Python does not offer.

Every function raises :class:`OSError` with the kernel's errno.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

_libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS: Final = 0x00020000  # CLONE_NEWNS
NEW_USER: Final = 0x10000000  # CLONE_NEWUSER
_NO_SETUID: Final = 2
_NO_DEVICES: Final = 4
_REMOUNT: Final = 32
_BIND: Final = 1 << 12
_RECURSIVE: Final = 1 << 14
_PRIVATE: Final = 1 << 18
_DETACH: Final = 2
PLENTY: Final = 1 << 20
"""Blocks of 4 KiB, and inodes: a tmpfs sets none of them aside."""


class FileSystemStatus(ctypes.Structure):
    """``struct statfs`` of 64-bit Linux."""

    _fields_ = (
        ("type", ctypes.c_int64),
        ("block_bytes", ctypes.c_int64),
        ("blocks", ctypes.c_uint64),
        ("free_blocks", ctypes.c_uint64),
        ("available_blocks", ctypes.c_uint64),
        ("files", ctypes.c_uint64),
        ("free_files", ctypes.c_uint64),
        ("id", ctypes.c_int32 * 2),
        ("name_bytes", ctypes.c_int64),
        ("fragment_bytes", ctypes.c_int64),
        ("flags", ctypes.c_int64),
        ("spare", ctypes.c_int64 * 4),
    )

    def blocks_of(self, size: int, blocks: int, free: int) -> None:
        """Say that there are so many blocks of ``size`` bytes."""
        self.block_bytes = self.fragment_bytes = size
        self.blocks, self.free_blocks, self.available_blocks = blocks, free, free


def file_system_status(descriptor: int) -> FileSystemStatus:
    """fstatfs(2)."""
    told = FileSystemStatus()
    _check(_libc.fstatfs(descriptor, ctypes.byref(told)))
    return told


def unshare(flags: int) -> None:
    """unshare(2) of this process, which has one thread."""
    _check(_libc.unshare(flags))


def keep_ids(user: int, group: int) -> None:
    """In a new user namespace: this process is who it was before it made it."""
    process = Path("/proc/self")
    (process / "setgroups").write_text("deny")
    (process / "uid_map").write_text(f"{user} {user} 1")
    (process / "gid_map").write_text(f"{group} {group} 1")


def make_mounts_private() -> None:
    """Nothing that is mounted in this namespace is seen in another, nor the other way round."""
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None))


def mount_tmpfs(directory: bytes, options: str) -> None:
    """Mount a tmpfs over a directory."""
    flags = ctypes.c_ulong(_NO_SETUID | _NO_DEVICES)
    _check(_libc.mount(b"tmpfs", directory, b"tmpfs", flags, options.encode("ascii")))


def mount_again(source: bytes, directory: bytes) -> None:
    """Let ``directory`` show what ``source`` does, which is a directory too."""
    _check(_libc.mount(source, directory, None, ctypes.c_ulong(_BIND), None))


def widen_tmpfs(directory: bytes) -> None:
    """Let a mounted tmpfs have as much as anybody wants.

    It has had a limit of both, blocks and inodes: where there is none, none can be set (EINVAL).
    """
    options = f"nr_blocks={PLENTY},nr_inodes={PLENTY}".encode("ascii")
    flags = ctypes.c_ulong(_REMOUNT | _NO_SETUID | _NO_DEVICES)
    _check(_libc.mount(b"tmpfs", directory, b"tmpfs", flags, options))


def unmount(directory: bytes) -> None:
    """Take it away, also if somebody is still in it."""
    _check(_libc.umount2(directory, _DETACH))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
