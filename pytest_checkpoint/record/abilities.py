"""What this machine can do, tried and not guessed."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Final

from pytest_checkpoint.errors import HarnessError, UserError

_GET_ACTION_AVAILABLE: Final = 2
_OLDEST_KERNEL: Final = (5, 14)
"""SECCOMP_ADDFD_FLAG_SEND."""


def describe() -> list[str]:
    """For the header: a line that says recording works here, or what it lacks and what to do."""
    lacking = missing()
    if lacking is not None:
        return [f"cannot record on this machine: {lacking}"]
    return [f"recording by seccomp user notification on Linux {platform.release()}"]


def require() -> None:
    """Raise :class:`UserError` if this machine cannot record."""
    lacking = missing()
    if lacking is not None:
        raise UserError(lacking)


def missing() -> str | None:
    """The first thing that recording needs and this machine lacks, with what to do."""
    elsewhere = not_linux()
    if elsewhere is not None:
        return elsewhere
    release = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdigit())
    if release < _OLDEST_KERNEL:
        return f"Linux 5.14 or newer is needed, and this is {platform.release()}"
    try:
        return _missing_calls()
    except HarnessError as error:
        return str(error)


def not_linux() -> str | None:
    """Why nothing can be recorded on this system; None on Linux.

    Told before the rest of the kit is imported: that takes modules which others do not have.
    """
    if sys.platform != "linux":
        return (
            f"system calls are recorded with Linux's seccomp, and this is {sys.platform}: "
            "run the tests on Linux, in a container or a virtual machine"
        )
    return None


def _missing_calls() -> str | None:
    from pytest_checkpoint.record import filter as seccomp_filter
    from pytest_checkpoint.record import kernel
    from pytest_checkpoint.record.syscalls import native

    native()
    libc = ctypes.CDLL(None, use_errno=True)
    action = ctypes.c_uint32(seccomp_filter.RET_NOTIFY)
    number = kernel.SECCOMP[platform.machine()]
    if libc.syscall(ctypes.c_long(number), _GET_ACTION_AVAILABLE, 0, ctypes.byref(action)):
        reason = errno.errorcode.get(ctypes.get_errno(), "unknown error")
        return (
            f"seccomp user notification is not to be had here ({reason}): a container needs "
            "a seccomp profile that allows seccomp(2); Docker's default one does"
        )
    process = os.pidfd_open(os.getpid())
    try:
        os.close(kernel.copy_descriptor(process, 2))
    except OSError as error:
        return (
            f"pidfd_getfd is refused here ({error.strerror}), as in a container with Docker's "
            "default profile: start it with --cap-add SYS_PTRACE"
        )
    finally:
        os.close(process)
    return None
