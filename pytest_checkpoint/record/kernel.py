"""The few kernel calls that Python does not offer, typed: seccomp, pidfd, flags of renames.

Another process's memory is in ``memory.py``. Every function raises :class:`OSError` with the
kernel's errno. Structures and numbers are from ``linux/seccomp.h`` and ``seccomp_unotify(2)``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import struct
from typing import Final, NamedTuple

from pytest_checkpoint.record import filter as seccomp_filter
from pytest_checkpoint.record.one_core import NOWHERE, OneCore
from pytest_checkpoint.record.syscalls import native

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_TGKILL: Final = {"x86_64": 234, "aarch64": 131}
_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276}
_PIDFD_GETFD: Final = ctypes.c_long(438)
_SET_MODE_FILTER: Final = 1
_FLAG_NEW_LISTENER: Final = 8
_FLAG_WAIT_KILLABLE: Final = 32
_IOCTL_RECEIVE: Final = 0xC0502100
_IOCTL_SEND: Final = 0xC0182101
_IOCTL_ADD_DESCRIPTOR: Final = 0x40182103
_IOCTL_SET_FLAGS: Final = 0x40082104
_RESPONSE_CONTINUE: Final = 1
_ADD_DESCRIPTOR_SEND: Final = 2
_NOTIFICATION: Final = struct.Struct("=QI4xi12x6Q")
"""id, pid, nr and the arguments; not flags, arch and the instruction pointer."""
_NOTHING: Final = bytes(_NOTIFICATION.size)
"""The kernel wants to be given zeros."""
_RESPONSE: Final = struct.Struct("=QqiI")
_ADD_DESCRIPTOR: Final = struct.Struct("=QIIII")
_TIMES: Final = struct.Struct("=4q")
_AT_FDCWD: Final = -100
_MACHINE: Final = platform.machine()

_pidfd_getfd: Final = ctypes.CDLL(None, use_errno=True).syscall
_pidfd_getfd.restype = ctypes.c_long


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def become_subreaper() -> None:
    """Orphaned descendants become our children, so that they can be waited for and ended."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def die_with_parent(parent: int) -> None:
    """SIGKILL this process when its parent ends; at once if ``parent`` has ended already."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(*, closes: bool = False, free_space: bool = False) -> int:
    """Put this process and all its descendants under the filter; returns the listener."""
    code = seccomp_filter.program(native(), closes=closes, free_space=free_space)
    buffer = ctypes.create_string_buffer(code, len(code))
    described = _Program(len(code) // 8, ctypes.addressof(buffer))
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    number = SECCOMP[_MACHINE]
    for flags in (_FLAG_NEW_LISTENER | _FLAG_WAIT_KILLABLE, _FLAG_NEW_LISTENER):
        result = _libc.syscall(
            ctypes.c_long(number), _SET_MODE_FILTER, flags, ctypes.byref(described)
        )
        if result >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    return _checked(int(result))


def calls_wait_for_their_answer() -> bool:
    """Whether no signal but SIGKILL interrupts a call that has been received (Linux 5.19).

    The kernel is asked with a filter that is none: it looks at the flags first.
    """
    flags = _FLAG_NEW_LISTENER | _FLAG_WAIT_KILLABLE
    _libc.syscall(ctypes.c_long(SECCOMP[_MACHINE]), _SET_MODE_FILTER, flags, None)
    return ctypes.get_errno() == errno.EFAULT


class Notification(NamedTuple):
    """One stopped call. Arguments are unsigned 64-bit; those the call does not use are garbage."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]


_new: Final = tuple.__new__
"""Half of the time that the class itself takes to make one."""


class Listener:
    """The supervisor's end of the filter."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.one_core = OneCore()
        self._uninterrupted = True
        """The kernel surely knows WAIT_KILLABLE_RECV (5.19): a received call waits to its end."""
        try:
            _ask(descriptor, _IOCTL_SET_FLAGS, 1)  # SYNC_WAKE_UP, halves the round trip
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTTY):  # kernels before 6.6
                raise
            self._uninterrupted = False

    def receive(self) -> Notification | None:
        """The next stopped call; None if it died before it could be read."""
        try:
            told = fcntl.ioctl(self.descriptor, _IOCTL_RECEIVE, _NOTHING)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return None
            raise
        fields = _NOTIFICATION.unpack(told)
        return _new(Notification, (fields[0], fields[1], fields[2], fields[3:]))

    def let_through(self, notification: Notification) -> None:
        """The kernel carries the call out itself."""
        self.answer(notification, 0, flags=_RESPONSE_CONTINUE)

    def fail(self, notification: Notification, error: int) -> None:
        """The call fails with this errno."""
        self.answer(notification, 0, -error)

    def answer(
        self, notification: Notification, value: int, error: int = 0, flags: int = 0
    ) -> None:
        """The call returns ``value`` without having been carried out by the kernel."""
        response = _RESPONSE.pack(notification.id, value, error, flags)
        try:
            _ask(self.descriptor, _IOCTL_SEND, response)
        except OSError as problem:
            if problem.errno != errno.ENOENT:  # the caller was killed while it waited
                raise

    def answer_descriptor(
        self, notification: Notification, descriptor: int, close_on_exec: bool
    ) -> int:
        """Give the caller a descriptor of ours as the call's result, and close ours.

        Returns an errno or 0. Where a signal cannot interrupt the caller any more, ours is closed
        before the caller goes on: it may lock, close and execute the file at once, and must not
        find us holding it still.
        """
        flags = os.O_CLOEXEC if close_on_exec else 0
        how = 0 if self._uninterrupted else _ADD_DESCRIPTOR_SEND
        request = bytearray(_ADD_DESCRIPTOR.pack(notification.id, how, descriptor, 0, flags))
        theirs = self.one_core.enter(notification.thread) if self._uninterrupted else NOWHERE
        try:
            number = _ask(self.descriptor, _IOCTL_ADD_DESCRIPTOR, request)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return 0
            return error.errno or errno.EIO
        finally:
            os.close(descriptor)
            self.one_core.leave(notification.thread, theirs)
        if self._uninterrupted:
            self.answer(notification, number)
        return 0


def _ask(listener: int, request: int, argument: int | bytes | bytearray) -> int:
    """ioctl, again if it was interrupted: it waits for a lock, and has done nothing by then.

    The end of a child is signalled to us at any time, and the kernel does not go on by itself here.
    """
    while True:
        try:
            answer: int = fcntl.ioctl(listener, request, argument)  # type: ignore[assignment]
        except InterruptedError:
            continue
        return answer


def copy_descriptor(process_descriptor: int, number: int) -> int:
    """pidfd_getfd: a descriptor for the same open file description, offset and flags shared."""
    copy: int = _pidfd_getfd(_PIDFD_GETFD, process_descriptor, number, 0)
    return copy if copy >= 0 else _checked(copy)


def signal_thread(process: int, thread: int, number: int) -> None:
    """tgkill(2)."""
    _checked(_libc.syscall(ctypes.c_long(_TGKILL[_MACHINE]), process, thread, number))


def bind(descriptor: int, address: bytes) -> None:
    """bind(2) with the address as it is: Python's own refuses names of 108 bytes."""
    _checked(_libc.bind(descriptor, ctypes.c_char_p(address), len(address)))


def rename_with_flags(
    source_directory: int, source: bytes, target_directory: int, target: bytes, flags: int
) -> None:
    """renameat2(2)."""
    if not flags:
        os.rename(source, target, src_dir_fd=source_directory, dst_dir_fd=target_directory)
        return
    _checked(
        _libc.syscall(
            ctypes.c_long(_RENAMEAT2[_MACHINE]),
            source_directory,
            ctypes.c_char_p(source),
            target_directory,
            ctypes.c_char_p(target),
            ctypes.c_uint(flags),
        )
    )


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2) with its mode bits (os.posix_fallocate has none).

    Again, if a signal has come to us meanwhile: some kernels give up on tmpfs then.
    """
    where = ctypes.c_int64(offset), ctypes.c_int64(length)
    while (result := _libc.fallocate(descriptor, mode, *where)) < 0:
        if ctypes.get_errno() != errno.EINTR:
            break
    _checked(result)


def set_times(path: bytes, stamps: tuple[tuple[int, int], tuple[int, int]] | None) -> None:
    """utimensat(2), whose nanoseconds may be UTIME_NOW and UTIME_OMIT; None: both are now.

    Python itself takes no such, and now is another moment for who asks the clock.
    """
    packed = None if stamps is None else _TIMES.pack(*stamps[0], *stamps[1])
    _checked(_libc.utimensat(_AT_FDCWD, ctypes.c_char_p(path), packed, 0))


def set_file_credentials(user: int, group: int) -> None:
    """setfsuid, setfsgid of this thread: whose rights the next file calls have."""
    _libc.setfsgid(group)
    _libc.setfsuid(user)
