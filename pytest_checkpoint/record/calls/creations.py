"""Calls that make new names: directories, symbolic links, FIFOs, sockets, devices."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import AT_FDCWD, Caller
from pytest_checkpoint.record.calls.names import parent_of
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Create, NodeKind
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import DONE, Failure, PassOn, Reply

Arguments = tuple[int, ...]


def mkdir(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mkdir(recorder, caller, "mkdir", AT_FDCWD, arguments[0], arguments[1])


def mkdirat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mkdir(recorder, caller, "mkdirat", arguments[0], arguments[1], arguments[2])


def _mkdir(
    recorder: Recorder, caller: Caller, call: str, base: int, address: int, mode: int
) -> Reply:
    def make(place: Place) -> None:
        os.mkdir(place.argument, mode & 0o7777, dir_fd=place.directory)

    path = caller.string(address)
    return _create(recorder, caller, call, base, path, NodeKind.DIRECTORY, make)


def symlink(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _symlink(recorder, caller, "symlink", arguments[0], AT_FDCWD, arguments[1])


def symlinkat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _symlink(recorder, caller, "symlinkat", arguments[0], arguments[1], arguments[2])


def _symlink(
    recorder: Recorder, caller: Caller, call: str, content: int, base: int, address: int
) -> Reply:
    target = caller.string(content)

    def make(place: Place) -> None:
        os.symlink(target, place.argument, dir_fd=place.directory)

    path = caller.string(address)
    return _create(recorder, caller, call, base, path, NodeKind.SYMLINK, make, target)


def mknod(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mknod(recorder, caller, "mknod", AT_FDCWD, *arguments[:3])


def mknodat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mknod(recorder, caller, "mknodat", *arguments[:4])


_KINDS: Final = {
    0: NodeKind.FILE,
    stat.S_IFREG: NodeKind.FILE,
    stat.S_IFIFO: NodeKind.FIFO,
    stat.S_IFSOCK: NodeKind.SOCKET,
    stat.S_IFCHR: NodeKind.DEVICE,
    stat.S_IFBLK: NodeKind.DEVICE,
}


def _mknod(
    recorder: Recorder, caller: Caller, call: str, base: int, address: int, mode: int, device: int
) -> Reply:
    mode &= 0xFFFFFFFF
    device &= 0xFFFFFFFF
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is None:
        raise PassOn

    def make(place: Place) -> None:
        os.mknod(place.argument, mode, device, dir_fd=place.directory)

    return _create(recorder, caller, call, base, caller.string(address), kind, make)


def bind(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """A socket's name on a path. Bound from the caller's directory: its name stays as given.

    But for one that leads through ``/proc/self``, which would be ours.
    """
    number, address, length = arguments[:3]
    length &= 0xFFFFFFFF
    raw = bytes(caller.memory([(address, min(length, 110))]))
    if len(raw) < 3 or int.from_bytes(raw[:2], "little") != socket.AF_UNIX or not raw[2]:
        raise PassOn
    path = raw[2:].split(b"\0", 1)[0]
    meant = caller.rewritten(path)
    if meant != path:
        raw, path = raw[:2] + meant, meant

    def make(place: Place) -> None:
        copy = caller.copy(number)
        here = os.open(b".", os.O_PATH | os.O_DIRECTORY)
        try:
            base = caller.base(AT_FDCWD)
            try:
                os.fchdir(base)
                kernel.bind(copy, raw)
            finally:
                os.fchdir(here)
                os.close(base)
        finally:
            os.close(here)
            os.close(copy)

    return _create(recorder, caller, "bind", AT_FDCWD, path, NodeKind.SOCKET, make)


def _create(
    recorder: Recorder,
    caller: Caller,
    call: str,
    base: int,
    path: bytes,
    kind: NodeKind,
    make: Callable[[Place], None],
    target: bytes = b"",
) -> Reply:
    place = caller.place(base, path, follow=False)
    try:
        parent = parent_of(recorder, place)
        if parent is None:
            if place.lookup() is None:
                recorder.policy.note_created(place.real_path())
            raise PassOn
        shown = recorder.tree.path_of(parent, place.name)
        recorder.intend(caller, call, shown, deed=Deed.MAKE, length=len(target))
        try:
            with caller.own_umask() if recorder.umask_varies else nullcontext():
                make(place)
        except OSError as error:
            recorder.record(caller, call, shown, error=number_of(error))
            return Failure(number_of(error))
        status = place.lookup()
        if status is None:  # gone already: somebody outside our control removed it
            return Failure(errno.EIO)
        node = recorder.tree.create(
            parent, place.name, status, is_directory=kind is NodeKind.DIRECTORY
        )
        created = Create(
            parent, place.name, node, kind, stat.S_IMODE(status.st_mode), target, status.st_rdev
        )
        recorder.record(
            caller,
            call,
            shown,
            created,
            *recorder.made(node, status),
            *recorder.touched(parent, place),
        )
        return DONE
    finally:
        place.close()
