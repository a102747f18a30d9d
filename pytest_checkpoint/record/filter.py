"""The seccomp filter: which calls stop at the supervisor, which are refused outright.

Everything that can change a file, a name, their attributes or their durability is notified; opens
only where their flags can create or cut. Reads never stop. Closes stop only in runs in which one
shall fail, statfs only in runs with little room. Changes of umask, user and file size limit, and
signals, are seen but not recorded. Calls whose effects could not be seen
one by one fail as on a kernel that lacks them, so that programs take their ordinary path:
io_uring_setup, io_setup and the newest xattr calls (ENOSYS), FICLONE and FICLONERANGE (EOPNOTSUPP).
"""

from __future__ import annotations

import errno
import os
import resource
import struct
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record.syscalls import Architecture

RET_ALLOW: Final = 0x7FFF0000
RET_NOTIFY: Final = 0x7FC00000
RET_ERRNO: Final = 0x00050000

_LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_GREATER_EQUAL: Final = 0x35
_JUMP_SET: Final = 0x45
_RETURN: Final = 0x06

_OFFSET_NUMBER: Final = 0
_OFFSET_ARCHITECTURE: Final = 4
_OFFSET_ARGUMENTS: Final = 16

_FICLONE: Final = 0x40049409
_FICLONERANGE: Final = 0x4020940D
_TMPFILE_BIT: Final = 0o20000000
_MAP_SHARED: Final = 1
_PROT_WRITE: Final = 2
_ANY: Final = 0xFFFFFFFF

_NOTIFIED: Final = (
    "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "splice",
    "ftruncate", "truncate", "fallocate", "creat", "openat2", "link", "linkat", "rename",
    "renameat", "renameat2", "unlink", "unlinkat", "symlink", "symlinkat", "mkdir", "mkdirat",
    "rmdir", "mknod", "mknodat", "fsync", "fdatasync", "sync", "syncfs", "msync", "chmod",
    "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr", "connect", "bind", "umask", "setuid", "setgid", "setreuid",
    "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups",
)  # fmt: skip

_CLOSES: Final = ("close",)
_FREE_SPACE: Final = ("statfs", "fstatfs")

_REFUSED: Final = ("io_uring_setup", "io_setup", "setxattrat", "removexattrat")


@dataclass(frozen=True, slots=True)
class _Bits:
    """Notify only if ``argument & mask`` is not zero."""

    call: str
    argument: int
    mask: int


@dataclass(frozen=True, slots=True)
class _Value:
    """Notify only if ``argument`` is this."""

    call: str
    argument: int
    value: int


_OPEN_BITS: Final = os.O_CREAT | os.O_TRUNC | _TMPFILE_BIT
_CONDITIONAL: Final = (
    _Bits("open", 1, _OPEN_BITS),
    _Bits("openat", 2, _OPEN_BITS),
    _Bits("mmap", 3, _MAP_SHARED),
    _Bits("mprotect", 2, _PROT_WRITE),
    _Bits("kill", 1, _ANY),
    _Bits("tkill", 1, _ANY),
    _Bits("tgkill", 2, _ANY),
    _Bits("rt_sigqueueinfo", 1, _ANY),
    _Bits("rt_tgsigqueueinfo", 2, _ANY),
    _Bits("pidfd_send_signal", 1, _ANY),
    _Value("setrlimit", 0, resource.RLIMIT_FSIZE),
    _Value("prlimit64", 1, resource.RLIMIT_FSIZE),
)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(index: int) -> int:
    """Offset of the low word (both architectures are little-endian)."""
    return _OFFSET_ARGUMENTS + 8 * index


def program(architecture: Architecture, *, closes: bool = False, free_space: bool = False) -> bytes:
    """The filter as an array of ``struct sock_filter`` (8 bytes each).

    ``closes``: notify close(2) as well; not dup2, close_range, nor the end of a process.
    ``free_space``: and the calls that ask how much room a file system has.
    """
    numbers = architecture.numbers
    refuse = RET_ERRNO | errno.ENOSYS
    code = [
        _instruction(_LOAD_WORD, _OFFSET_ARCHITECTURE),
        _instruction(_JUMP_EQUAL, architecture.audit, 1, 0),
        _instruction(_RETURN, refuse),
        _instruction(_LOAD_WORD, _OFFSET_NUMBER),
    ]
    if architecture.foreign_from is not None:
        code += [
            _instruction(_JUMP_GREATER_EQUAL, architecture.foreign_from, 0, 1),
            _instruction(_RETURN, refuse),
        ]
    for name in _REFUSED:
        code += _when(numbers[name], [_instruction(_RETURN, refuse)])
    code += _when(numbers["ioctl"], _clone_requests())
    notified = (*_NOTIFIED, *(_CLOSES if closes else ()), *(_FREE_SPACE if free_space else ()))
    for name in notified:
        if name in numbers:
            code += _when(numbers[name], [_instruction(_RETURN, RET_NOTIFY)])
    for one in _CONDITIONAL:
        if one.call in numbers:
            code += _when(numbers[one.call], _notify_when(one))
    code.append(_instruction(_RETURN, RET_ALLOW))
    return b"".join(code)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """``body`` must return; it may load other words, since nothing after it runs."""
    return [_instruction(_JUMP_EQUAL, number, 0, len(body)), *body]


def _notify_when(condition: _Bits | _Value) -> list[bytes]:
    if isinstance(condition, _Bits):
        jump, operand = _JUMP_SET, condition.mask
    else:
        jump, operand = _JUMP_EQUAL, condition.value
    return [
        _instruction(_LOAD_WORD, _argument(condition.argument)),
        _instruction(jump, operand, 0, 1),
        _instruction(_RETURN, RET_NOTIFY),
        _instruction(_RETURN, RET_ALLOW),
    ]


def _clone_requests() -> list[bytes]:
    unsupported = RET_ERRNO | errno.EOPNOTSUPP
    return [
        _instruction(_LOAD_WORD, _argument(1)),
        _instruction(_JUMP_EQUAL, _FICLONE, 1, 0),
        _instruction(_JUMP_EQUAL, _FICLONERANGE, 0, 1),
        _instruction(_RETURN, unsupported),
        _instruction(_RETURN, RET_ALLOW),
    ]
