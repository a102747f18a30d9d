"""Numbers of the system calls that a recording is made of, per architecture.

aarch64 has only the ``*at`` forms; a name that an architecture lacks is absent from its table.
Sources: the kernel's ``syscall_64.tbl`` and ``asm-generic/unistd.h``.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Architecture:
    name: str
    audit: int
    """AUDIT_ARCH_* of seccomp_data.arch."""
    foreign_from: int | None
    """First number of a second ABI under the same audit value (x32), refused as a whole."""
    numbers: dict[str, int]


_X86_64: Final = {
    "write": 1, "open": 2, "close": 3, "mmap": 9, "mprotect": 10, "ioctl": 16, "pwrite64": 18,
    "writev": 20, "msync": 26, "sendfile": 40, "connect": 42, "bind": 49, "kill": 62, "fsync": 74,
    "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84,
    "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "chmod": 90, "fchmod": 91, "chown": 92,
    "fchown": 93, "lchown": 94, "umask": 95, "setuid": 105, "setgid": 106, "setreuid": 113,
    "setregid": 114, "setgroups": 116, "setresuid": 117, "setresgid": 119, "setfsuid": 122,
    "setfsgid": 123, "rt_sigqueueinfo": 129, "utime": 132, "mknod": 133, "statfs": 137,
    "fstatfs": 138, "setrlimit": 160, "sync": 162, "tkill": 200, "setxattr": 188, "lsetxattr": 189,
    "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "io_setup": 206,
    "tgkill": 234, "utimes": 235, "openat": 257, "mkdirat": 258, "mknodat": 259, "fchownat": 260,
    "futimesat": 261, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
    "fchmodat": 268, "splice": 275, "utimensat": 280, "fallocate": 285, "pwritev": 296,
    "rt_tgsigqueueinfo": 297, "prlimit64": 302, "syncfs": 306, "renameat2": 316,
    "copy_file_range": 326, "pwritev2": 328, "pidfd_send_signal": 424, "io_uring_setup": 425,
    "openat2": 437, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip

_AARCH64: Final = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
    "fremovexattr": 16, "io_setup": 0, "ioctl": 29, "mknodat": 33, "mkdirat": 34, "unlinkat": 35,
    "symlinkat": 36, "linkat": 37, "renameat": 38, "statfs": 43, "fstatfs": 44, "truncate": 45,
    "ftruncate": 46, "fallocate": 47, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55,
    "openat": 56, "close": 57, "write": 64, "writev": 66, "pwrite64": 68, "pwritev": 70,
    "sendfile": 71, "splice": 76, "sync": 81, "fsync": 82, "fdatasync": 83, "utimensat": 88,
    "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "setregid": 143,
    "setgid": 144, "setreuid": 145, "setuid": 146, "setresuid": 147, "setresgid": 149,
    "setfsuid": 151, "setfsgid": 152, "setgroups": 159, "setrlimit": 164, "umask": 166, "bind": 200,
    "connect": 203, "mmap": 222, "mprotect": 226, "msync": 227, "rt_tgsigqueueinfo": 240,
    "prlimit64": 261, "syncfs": 267, "renameat2": 276, "copy_file_range": 285, "pwritev2": 287,
    "pidfd_send_signal": 424, "io_uring_setup": 425, "openat2": 437, "fchmodat2": 452,
    "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip

_ARCHITECTURES: Final = {
    "x86_64": Architecture("x86_64", 0xC000003E, 0x40000000, _X86_64),
    "aarch64": Architecture("aarch64", 0xC00000B7, None, _AARCH64),
}


def native() -> Architecture:
    """The architecture of this machine; HarnessError with a sentence where there is no table."""
    machine = platform.machine()
    try:
        return _ARCHITECTURES[machine]
    except KeyError:
        raise HarnessError(
            f"this machine is {machine}; system calls can be recorded on x86_64 and aarch64 only"
        ) from None
