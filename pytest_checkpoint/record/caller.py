"""The thread whose call is stopped: its memory, its descriptors, its idea of a path.

Everything here only looks. What cannot be found raises :class:`Fails`: the call is answered with
that error. It is not left to the kernel, because what was missing a moment ago may be there by the
time that the kernel looks, and the call would succeed unseen.

Paths are resolved with our own root directory and mount namespace: a subject that calls chroot or
mounts something is not supported.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.directories import Directories
from pytest_checkpoint.record.handles import Handles
from pytest_checkpoint.record.memory import read_memory, read_string, read_strings, write_memory
from pytest_checkpoint.record.place import NO_NAMES, Place, link_target, split
from pytest_checkpoint.record.reply import CannotRecord, Fails, PassOn, Unobservable, failing
from pytest_checkpoint.record.tracked import Identity

AT_FDCWD: Final = -100
NO_LIMIT: Final = 1 << 64
_PROCESS_DESCRIPTOR: Final = re.compile(rb"^/proc/\d+/(?:task/\d+/)?fd/\d+$")
_ALIASES: Final = (b"/proc/self", b"/proc/thread-self", b"/dev/fd", b"/dev/std")
_LIKE_ALIASES: Final = re.compile(rb"/(?:\.?/)*(?:proc|dev)/")
_NO_STEP: Final = re.compile(rb"/(?:\.?/)+")
_LINK_LIMIT: Final = 40


class Caller:
    """One stopped thread; made anew for every call, because numbers are reused."""

    __slots__ = (
        "_directories",
        "_handles",
        "_parent",
        "_parent_identity",
        "_process",
        "_status",
        "thread",
    )

    def __init__(
        self, thread: int, handles: Handles | None = None, directories: Directories | None = None
    ) -> None:
        self.thread = thread
        self._handles = handles or Handles()
        self._directories = directories
        """Recorded ones that are open already."""
        self._parent: bytes | None = None
        """The directory part of the path that was resolved last …"""
        self._parent_identity: Identity = (0, 0)
        """… and what that leads to during this call."""
        self._status: bytes | None = None
        self._process: int | None = None

    # --- what the kernel says of it ---

    def _field(self, name: bytes) -> bytes:
        status = self._status
        if status is None:
            try:
                with open(f"/proc/{self.thread}/status", "rb", buffering=0) as file:
                    status = self._status = b"\n" + file.read(1 << 16)
            except OSError as error:
                raise PassOn from error
        begin = status.find(b"\n" + name + b":")
        if begin < 0:
            return b""
        begin += len(name) + 2
        return status[begin : status.find(b"\n", begin)].strip()

    @property
    def process(self) -> int:
        process = self._process
        if process is None:
            process = self._process = self._handles.process(self.thread)
        return process

    @property
    def umask(self) -> int:
        return int(self._field(b"Umask") or b"22", 8)

    @contextmanager
    def own_umask(self) -> Iterator[None]:
        """Names are created inside with the caller's umask."""
        previous = os.umask(self.umask)
        try:
            yield
        finally:
            os.umask(previous)

    @contextmanager
    def rights(self) -> Iterator[None]:
        """File calls inside are made with the caller's user and groups."""
        user, group = (int(self._field(name).split()[3]) for name in (b"Uid", b"Gid"))
        groups = [int(number) for number in self._field(b"Groups").split()]
        ours = (os.geteuid(), os.getegid())
        our_groups = os.getgroups()
        if (user, group) == ours and sorted(groups) == sorted(our_groups):
            yield
            return
        try:
            os.setgroups(groups)
        except PermissionError as error:
            raise CannotRecord(
                f"process {self.process} has changed its user, and what it does cannot be carried "
                "out in its name; run the subject as one ordinary user"
            ) from error
        try:
            kernel.set_file_credentials(user, group)
            yield
        finally:
            kernel.set_file_credentials(*ours)
            os.setgroups(our_groups)

    @property
    def file_size_limit(self) -> int | None:
        """RLIMIT_FSIZE in bytes or :data:`NO_LIMIT`; None if it cannot be asked for."""
        try:
            limit = resource.prlimit(self.thread, resource.RLIMIT_FSIZE)[0]
        except (OSError, ValueError):
            return None
        return NO_LIMIT if limit == resource.RLIM_INFINITY else limit

    # --- memory ---

    def memory(self, ranges: list[tuple[int, int]]) -> bytearray:
        """All of it, or :class:`Fails`."""
        data = self.readable_memory(ranges)
        if len(data) != sum(length for _, length in ranges):
            raise Fails(errno.EFAULT)
        return data

    def readable_memory(self, ranges: list[tuple[int, int]]) -> bytearray:
        """Up to the first page that is not there: what the kernel itself would copy."""
        try:
            return read_memory(self.thread, ranges)
        except OSError as error:
            raise self._unreadable(error) from error

    def string(self, address: int) -> bytes:
        try:
            return read_string(self.thread, address)
        except OSError as error:
            raise self._unreadable(error) from error

    def strings(self, first: int, second: int) -> tuple[bytes, bytes]:
        try:
            return read_strings(self.thread, first, second)
        except OSError as error:
            raise self._unreadable(error) from error

    def put(self, address: int, data: bytes) -> None:
        try:
            write_memory(self.thread, address, data)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> Exception:
        if error.errno in (errno.EPERM, errno.EACCES):
            return Unobservable(
                f"process {self.thread} cannot be observed ({error.strerror}): it is not dumpable "
                "or runs as another user; run the subject as one ordinary user"
            )
        return failing(error)

    # --- descriptors ---

    def descriptor_status(self, number: int) -> os.stat_result:
        """fstat of the caller's descriptor, for calls that want a file that is really open."""
        copy = self.opened(number)
        try:
            return os.fstat(copy)
        finally:
            os.close(copy)

    def copy(self, number: int) -> int:
        """Our own descriptor of the same open file description. The caller of this closes it."""
        number &= 0xFFFFFFFF
        if number & 0x80000000:  # a negative int
            raise Fails(errno.EBADF)
        try:
            copy, self._process = self._handles.copy(self.thread, number)
        except OSError as error:
            raise self._unreadable(error) from error
        return copy

    def opened(self, number: int) -> int:
        """As :meth:`copy`; where a file was only found, not opened (O_PATH), it fails."""
        copy = self.copy(number)
        if fcntl.fcntl(copy, fcntl.F_GETFL) & os.O_PATH:
            os.close(copy)
            raise Fails(errno.EBADF)
        return copy

    # --- paths ---

    def rewritten(self, path: bytes) -> bytes:
        """``/proc/self`` and its aliases mean the caller, not us."""
        if not path.startswith(_ALIASES):
            if not _LIKE_ALIASES.match(path):
                return path
            path = _NO_STEP.sub(b"/", path)  # //proc/./self
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
        """A descriptor of the directory that relative paths start from.

        Not by /proc for one of the caller's: with its rights, we may not look there.
        """
        number = signed(directory)
        if number != AT_FDCWD:
            return self.copy(directory)
        try:
            return os.open(f"/proc/{self.thread}/cwd", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Fails(errno.EBADF) from error
        except OSError as error:
            raise self._unreadable(error) from error

    def start(self, directory: int, path: bytes) -> int | None:
        """Where a path starts: None for an absolute one, else a descriptor to be closed."""
        return None if path.startswith(b"/") else self.base(directory)

    def place(self, directory: int, path: bytes, *, follow: bool) -> Place:
        """Resolve a path argument to a directory and a name.

        With ``follow`` a final symbolic link is replaced by the place it points to, which need not
        exist. Paths that end in ``.``, ``..`` or nothing are passed on: no such call creates or
        removes a name.
        """
        place = self.certain_place(path)
        if place is not None and not (follow and is_link(place.found())):
            return place
        if not path:
            raise PassOn
        path = self.rewritten(path)
        place = self._known_place(directory, path, follow=follow)
        if place is not None:
            return place
        start = self.start(directory, path)
        as_directory = False
        try:
            for _ in range(_LINK_LIMIT):
                as_directory = as_directory or path.endswith(b"/")
                place = split(start, path, as_directory=as_directory)
                target = link_target(place) if follow else None
                if target is None:
                    return place
                if start is not None:
                    os.close(start)
                start, path = place.directory, self.rewritten(target)
        except OSError as error:
            raise self._not_found(error) from error
        finally:
            if start is not None:
                os.close(start)
        raise Fails(errno.ELOOP)

    def certain_place(self, path: bytes) -> Place | None:
        """The place, not followed, if there is no need to ask what its directory is."""
        if self._directories is None:
            return None
        parent, _, name = path.rpartition(b"/")
        known = self._directories.at(parent)
        return None if known is None or name in NO_NAMES else Place.kept(*known, name)

    def _known_place(self, directory: int, path: bytes, *, follow: bool) -> Place | None:
        """The place, if it lies in a directory that is open already and takes no more than that."""
        if self._directories is None:
            return None
        parent, slash, name = path.rpartition(b"/")
        if name in NO_NAMES:
            return None
        if not path.startswith(b"/"):
            number = signed(directory)
            base = b"cwd" if number == AT_FDCWD else b"fd/%d" % number
            parent = b"/proc/%d/%s/%s" % (self.thread, base, parent)
        try:
            if parent != self._parent:
                status = os.stat(parent or slash)
                self._parent, self._parent_identity = parent, (status.st_dev, status.st_ino)
            identity = self._parent_identity
            known = self._directories.get(identity)
            if known is None:
                return None
            place = Place.kept(known, identity, None, name)
            there = place.found() if follow else None
        except (OSError, Fails):
            return None  # whatever it is, it is met again
        return None if is_link(there) else place

    def handle(self, directory: int, path: bytes, *, follow: bool) -> int:
        """An O_PATH descriptor of what a path leads to. The caller of this closes it."""
        if not path:
            raise PassOn
        path = self.rewritten(path)
        start = self.start(directory, path)
        flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        try:
            return os.open(path, flags, dir_fd=start)
        except OSError as error:
            raise self._not_found(error) from error
        finally:
            if start is not None:
                os.close(start)

    def _not_found(self, error: OSError) -> Exception:
        """A path leads nowhere. Who has mounts of its own is told by the kernel, who knows them."""
        try:
            for space in ("ns/mnt", "root"):
                ours, theirs = (
                    os.readlink(f"/proc/{who}/{space}") for who in ("self", self.thread)
                )
                if ours != theirs:
                    return PassOn()
        except OSError:
            return PassOn()
        return failing(error)

    def is_process_descriptor(self, path: bytes) -> bool:
        """Whether a rewritten path is a magic link to an open descriptor."""
        return path.startswith(b"/proc/") and _PROCESS_DESCRIPTOR.match(path) is not None


def signed(number: int) -> int:
    """A 32-bit int argument as the kernel reads it."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number & 0x80000000 else number


def is_link(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISLNK(status.st_mode)


def is_regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)
