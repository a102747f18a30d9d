"""The few kernel calls that Python does not offer, typed: seccomp, pidfd, another process's memory.

Every function raises :class:`OSError` with the kernel's errno. Structures and numbers are from
``linux/seccomp.h`` and ``seccomp_unotify(2)``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import struct
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record import filter as seccomp_filter
from pytest_checkpoint.record.syscalls import native

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_TGKILL: Final = {"x86_64": 234, "aarch64": 131}
_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276}
_PIDFD_GETFD: Final = 438
_SET_MODE_FILTER: Final = 1
_FLAG_NEW_LISTENER: Final = 8
_FLAG_WAIT_KILLABLE: Final = 32
_IOCTL_RECEIVE: Final = 0xC0502100
_IOCTL_SEND: Final = 0xC0182101
_IOCTL_ADD_DESCRIPTOR: Final = 0x40182103
_IOCTL_SET_FLAGS: Final = 0x40082104
_RESPONSE_CONTINUE: Final = 1
_ADD_DESCRIPTOR_SEND: Final = 2
_NOTIFICATION: Final = struct.Struct("=QIIiIQ6Q")
_RESPONSE: Final = struct.Struct("=QqiI")
_ADD_DESCRIPTOR: Final = struct.Struct("=QIIII")
_MACHINE: Final = platform.machine()
PAGE: Final = 4096

_pidfd_getfd: Final = ctypes.CDLL(None, use_errno=True).syscall
_pidfd_getfd.restype = ctypes.c_long
_pidfd_getfd.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_uint)
_TRANSFER: Final = (
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
)
_read_process: Final = _libc.process_vm_readv
_write_process: Final = _libc.process_vm_writev
for _transfer in (_read_process, _write_process):
    _transfer.restype = ctypes.c_ssize_t
    _transfer.argtypes = _TRANSFER


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


@dataclass(slots=True)
class Notification:
    """One stopped call. Arguments are unsigned 64-bit; those the call does not use are garbage."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]


class Listener:
    """The supervisor's end of the filter."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._uninterrupted = True
        """The kernel surely knows WAIT_KILLABLE_RECV (5.19): a received call waits to its end."""
        try:
            fcntl.ioctl(descriptor, _IOCTL_SET_FLAGS, 1)  # SYNC_WAKE_UP, halves the round trip
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTTY):  # kernels before 6.6
                raise
            self._uninterrupted = False

    def receive(self) -> Notification | None:
        """The next stopped call; None if it died before it could be read."""
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self.descriptor, _IOCTL_RECEIVE, buffer)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return None
            raise
        fields = _NOTIFICATION.unpack(buffer)
        return Notification(fields[0], fields[1], fields[3], fields[6:12])

    def _send(self, response: bytes) -> None:
        try:
            fcntl.ioctl(self.descriptor, _IOCTL_SEND, response)
        except OSError as error:
            if error.errno != errno.ENOENT:  # the caller was killed while it waited
                raise

    def let_through(self, notification: Notification) -> None:
        """The kernel carries the call out itself."""
        self._send(_RESPONSE.pack(notification.id, 0, 0, _RESPONSE_CONTINUE))

    def answer(self, notification: Notification, value: int) -> None:
        """The call returns ``value`` without having been carried out by the kernel."""
        self._send(_RESPONSE.pack(notification.id, value, 0, 0))

    def fail(self, notification: Notification, error: int) -> None:
        """The call fails with this errno."""
        self._send(_RESPONSE.pack(notification.id, 0, -error, 0))

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
        try:
            number = fcntl.ioctl(self.descriptor, _IOCTL_ADD_DESCRIPTOR, request)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return 0
            return error.errno or errno.EIO
        finally:
            os.close(descriptor)
        if self._uninterrupted:
            self.answer(notification, number)
        return 0


def copy_descriptor(process_descriptor: int, number: int) -> int:
    """pidfd_getfd: a descriptor for the same open file description, offset and flags shared."""
    return int(_checked(_pidfd_getfd(_PIDFD_GETFD, process_descriptor, number, 0)))


def signal_thread(process: int, thread: int, number: int) -> None:
    """tgkill(2)."""
    _checked(_libc.syscall(ctypes.c_long(_TGKILL[_MACHINE]), process, thread, number))


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_memory(process: int, ranges: list[tuple[int, int]]) -> bytearray:
    """Bytes of another process, ``ranges`` (address, length) one after another.

    Stops before the first page that is not mapped, like the kernel's own copying: shorter than
    asked for then, perhaps empty.
    """
    result = bytearray(sum(length for _, length in ranges))
    if not result:
        return result
    first = ctypes.c_char.from_buffer(result)
    local = ctypes.addressof(first)
    done = 0
    for address, length in ranges:
        if length:
            count = _read_range(process, local + done, address, length)
            done += count
            if count != length:
                break
    del first  # it pins the buffer's size
    del result[done:]
    return result


def _read_range(process: int, local: int, address: int, length: int) -> int:
    """Copy one range; returns how much of it could be read."""
    done = 0
    step = length
    while done < length:
        here = _Vector(local + done, min(step, length - done))
        there = _Vector(address + done, min(step, length - done))
        count = _read_process(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if count > 0:
            done += count
            continue
        number = ctypes.get_errno() if count < 0 else errno.EFAULT
        if number != errno.EFAULT:
            raise OSError(number, os.strerror(number))
        # Some page is missing. The kernel tells nothing more: go on page by page up to it.
        to_page_end = PAGE - (address + done) % PAGE
        if step <= to_page_end:
            break
        step = to_page_end if (address + done) % PAGE else PAGE
    return done


def write_memory(process: int, address: int, data: bytes) -> None:
    """Put bytes into another process (results that a call returns through a pointer)."""
    buffer = ctypes.create_string_buffer(data, len(data))
    local = _Vector(ctypes.addressof(buffer), len(data))
    remote = _Vector(address, len(data))
    count = _checked(_write_process(process, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
    if count != len(data):
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))


_PATH_BUFFER: Final = ctypes.create_string_buffer(PAGE)
_PATH_VECTOR: Final = _Vector(ctypes.addressof(_PATH_BUFFER), PAGE)


def read_string(process: int, address: int, limit: int = PAGE) -> bytes:
    """A NUL-terminated string, read page by page so that an unmapped next page does no harm."""
    parts: list[bytes] = []
    length = 0
    while length < limit:
        there = _Vector(address + length, PAGE - (address + length) % PAGE)
        _PATH_VECTOR.length = there.length
        count = _checked(
            _read_process(process, ctypes.byref(_PATH_VECTOR), 1, ctypes.byref(there), 1, 0)
        )
        piece = _PATH_BUFFER.raw[:count]
        end = piece.find(b"\0")
        if end >= 0:
            if length + end >= limit:
                break
            parts.append(piece[:end])
            return b"".join(parts)
        parts.append(piece)
        length += count
    raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def bind(descriptor: int, address: bytes) -> None:
    """bind(2) with the address as it is: Python's own refuses names of 108 bytes."""
    _checked(_libc.bind(descriptor, ctypes.c_char_p(address), len(address)))


def rename_with_flags(
    source_directory: int, source: bytes, target_directory: int, target: bytes, flags: int
) -> None:
    """renameat2(2)."""
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
    """fallocate(2) with its mode bits (os.posix_fallocate has none)."""
    _checked(_libc.fallocate(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length)))


def set_file_credentials(user: int, group: int) -> None:
    """setfsuid, setfsgid of this thread: whose rights the next file calls have."""
    _libc.setfsgid(group)
    _libc.setfsuid(user)
