"""The thread whose call is stopped: its memory, its descriptors, its idea of a path.

Everything here only looks. What cannot be read raises :class:`PassOn`: the call is then left to the
kernel, which knows best which error it deserves.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_checkpoint.record import kernel

AT_FDCWD: Final = -100
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_PROCESS_DESCRIPTOR: Final = re.compile(rb"^/proc/\d+/(?:task/\d+/)?fd/\d+$")
_LINK_LIMIT: Final = 40


class PassOn(Exception):
    """Not ours to carry out: let the kernel do it, and record nothing."""


class Unobservable(Exception):
    """The process hides its descriptors or memory from us: what it does cannot be recorded."""


class Place:
    """A name in a directory, resolved as the caller would: last component not followed further."""

    __slots__ = ("directory", "identity", "name")

    def __init__(self, directory: int, name: bytes) -> None:
        self.directory = directory
        """An O_PATH descriptor of ours; closed with :meth:`close`."""
        self.name = name
        status = os.fstat(directory)
        self.identity = (status.st_dev, status.st_ino)

    def close(self) -> None:
        os.close(self.directory)

    def lookup(self) -> os.stat_result | None:
        """What stands under the name, not followed; None if nothing does."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise PassOn from error

    def real_path(self) -> bytes:
        """Absolute path, for messages and for rules about what lies outside."""
        directory = os.readlink(b"/proc/self/fd/%d" % self.directory)
        return os.path.join(directory, self.name)

    def path_through_descriptor(self) -> bytes:
        """A path that names the same place for calls that take no directory descriptor."""
        return b"/proc/self/fd/%d/%s" % (self.directory, self.name)


class Caller:
    """One stopped thread; made anew for every call, because numbers are reused."""

    __slots__ = ("_status", "thread")

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self._status: dict[bytes, bytes] | None = None

    def _field(self, name: bytes) -> bytes:
        if self._status is None:
            try:
                with open(f"/proc/{self.thread}/status", "rb", buffering=0) as file:
                    text = file.read(8192)
            except OSError as error:
                raise PassOn from error
            self._status = dict(
                (key, value.strip())
                for key, _, value in (line.partition(b":") for line in text.splitlines())
            )
        return self._status.get(name, b"")

    @property
    def process(self) -> int:
        return int(self._field(b"Tgid") or self.thread)

    @property
    def umask(self) -> int:
        return int(self._field(b"Umask") or b"22", 8)

    @property
    def file_credentials(self) -> tuple[int, int]:
        """File-system user and group: whose rights its file calls have."""
        return int(self._field(b"Uid").split()[3]), int(self._field(b"Gid").split()[3])

    @contextmanager
    def rights(self) -> Iterator[None]:
        """Name operations inside are done with the caller's umask and credentials."""
        previous = os.umask(self.umask)
        credentials = self.file_credentials
        ours = (os.geteuid(), os.getegid())
        if credentials != ours:
            kernel.set_file_credentials(*credentials)
        try:
            yield
        finally:
            if credentials != ours:
                kernel.set_file_credentials(*ours)
            os.umask(previous)

    # --- memory ---

    def memory(self, ranges: list[tuple[int, int]]) -> bytearray:
        try:
            return kernel.read_memory(self.thread, ranges)
        except OSError as error:
            raise self._unreadable(error) from error

    def string(self, address: int) -> bytes:
        try:
            return kernel.read_string(self.thread, address)
        except OSError as error:
            raise self._unreadable(error) from error

    def put(self, address: int, data: bytes) -> None:
        try:
            kernel.write_memory(self.thread, address, data)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> Exception:
        if error.errno in (errno.EPERM, errno.EACCES):
            return Unobservable(
                f"process {self.thread} cannot be observed ({error.strerror}): it is not dumpable "
                "or runs as another user; run the subject as one ordinary user"
            )
        return PassOn()

    # --- descriptors ---

    def descriptor_status(self, number: int) -> os.stat_result:
        """fstat of the caller's descriptor."""
        try:
            return os.stat(f"/proc/{self.thread}/fd/{signed(number)}")
        except OSError as error:
            raise self._unreadable(error) from error

    def copy(self, number: int) -> int:
        """Our own descriptor of the same open file description. The caller of this closes it."""
        try:
            process = os.pidfd_open(self.process)
        except OSError as error:
            raise PassOn from error
        try:
            return kernel.copy_descriptor(process, signed(number))
        except OSError as error:
            raise self._unreadable(error) from error
        finally:
            os.close(process)

    # --- paths ---

    def rewritten(self, path: bytes) -> bytes:
        """``/proc/self`` and its aliases mean the caller, not us."""
        for prefix, meant in (
            (b"/proc/self", b"/proc/%d" % self.process),
            (b"/proc/thread-self", b"/proc/%d/task/%d" % (self.process, self.thread)),
            (b"/dev/fd", b"/proc/%d/fd" % self.process),
            (b"/dev/stdin", b"/proc/%d/fd/0" % self.process),
            (b"/dev/stdout", b"/proc/%d/fd/1" % self.process),
            (b"/dev/stderr", b"/proc/%d/fd/2" % self.process),
        ):
            if path == prefix or path.startswith(prefix + b"/"):
                return meant + path[len(prefix) :]
        return path

    def base(self, directory: int) -> int:
        """An O_PATH descriptor of the directory that relative paths start from."""
        number = signed(directory)
        source = "cwd" if number == AT_FDCWD else f"fd/{number}"
        try:
            return os.open(f"/proc/{self.thread}/{source}", os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            raise self._unreadable(error) from error

    def place(self, directory: int, path: bytes, *, follow: bool) -> Place:
        """Resolve a path argument to a directory and a name.

        With ``follow`` a final symbolic link is replaced by the place it points to, which need not
        exist. Paths that end in ``.``, ``..`` or nothing are passed on: no such call creates or
        removes a name.
        """
        if not path:
            raise PassOn
        path = self.rewritten(path)
        start = os.open(b"/", _DIRECTORY) if path.startswith(b"/") else self.base(directory)
        try:
            for _ in range(_LINK_LIMIT):
                place = _split(start, path)
                target = _link_target(place) if follow else None
                if target is None:
                    return place
                os.close(start)
                start, path = place.directory, self.rewritten(target)
                if path.startswith(b"/"):
                    os.close(start)
                    start = os.open(b"/", _DIRECTORY)
        finally:
            os.close(start)
        raise PassOn

    def is_process_descriptor(self, path: bytes) -> bool:
        """Whether a rewritten path is a magic link to an open descriptor."""
        return _PROCESS_DESCRIPTOR.match(path) is not None


def _split(start: int, path: bytes) -> Place:
    parent, name = os.path.split(path.rstrip(b"/"))
    if name in (b"", b".", b".."):
        raise PassOn
    try:
        return Place(os.open(parent or b".", _DIRECTORY, dir_fd=start), name)
    except OSError as error:
        raise PassOn from error


def _link_target(place: Place) -> bytes | None:
    try:
        return os.readlink(place.name, dir_fd=place.directory)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        place.close()
        raise PassOn from error


def signed(number: int) -> int:
    """A 32-bit int argument as the kernel reads it."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number & 0x80000000 else number



def is_regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)
