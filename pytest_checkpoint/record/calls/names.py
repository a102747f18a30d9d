"""Calls that make, move and remove names."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.arrival import arrival
from pytest_checkpoint.record.caller import AT_FDCWD, Caller, PassOn, Place
from pytest_checkpoint.record.operations import Create, Link, NodeKind, Rename, Unlink
from pytest_checkpoint.record.recorder import Recorder, modified, number_of, touched
from pytest_checkpoint.record.reply import Failure, Reply, Value
from pytest_checkpoint.record.tracked import EVENTS
from pytest_checkpoint.tree.image import ROOT, NodeId

Arguments = tuple[int, ...]

_AT_REMOVEDIR: Final = 0x200
_AT_SYMLINK_FOLLOW: Final = 0x400
_AT_EMPTY_PATH: Final = 0x1000
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2


def _parent(recorder: Recorder, place: Place) -> NodeId | None:
    """The recorded directory of a place; None for outside and for the events file."""
    parent = recorder.directory(place)
    if parent == ROOT and place.name == EVENTS:
        return None
    return parent


# --- rename ---


def rename(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _rename(recorder, caller, "rename", (AT_FDCWD, arguments[0]), (AT_FDCWD, arguments[1]), 0)


def renameat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _rename(recorder, caller, "renameat", arguments[0:2], arguments[2:4], 0)


def renameat2(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    flags = arguments[4] & 0xFFFFFFFF
    return _rename(recorder, caller, "renameat2", arguments[0:2], arguments[2:4], flags)


def _rename(
    recorder: Recorder, caller: Caller, call: str, old: Arguments, new: Arguments, flags: int
) -> Reply:
    source = caller.place(old[0], caller.string(old[1]), follow=False)
    try:
        target = caller.place(new[0], caller.string(new[1]), follow=False)
        try:
            return _move(recorder, caller, call, source, target, flags)
        finally:
            target.close()
    finally:
        source.close()


def _move(
    recorder: Recorder, caller: Caller, call: str, source: Place, target: Place, flags: int
) -> Reply:
    parents = (_parent(recorder, source), _parent(recorder, target))
    status = source.lookup()
    if parents[0] is None or parents[1] is None:
        _check_outside(recorder, source, target, parents, status, flags)
    if parents == (None, None) or status is None:
        raise PassOn
    recorder.catch_up(caller)
    replaced = target.lookup()
    try:
        with caller.rights():
            kernel.rename_with_flags(
                source.directory, source.name, target.directory, target.name, flags
            )
    except OSError as error:
        shown = b"" if parents[0] is None else recorder.tree.path_of(parents[0], source.name)
        recorder.record(caller, call, shown, error=number_of(error))
        return Failure(number_of(error))
    if parents[0] is None or parents[1] is None:
        recorder.policy.note_renamed(source.real_path(), target.real_path())
    if parents[0] is not None and parents[1] is not None:
        _record_move(
            recorder, caller, call, (parents[0], source), (parents[1], target), flags
        )
    elif parents[0] is not None:
        _record_departure(recorder, caller, call, parents[0], source, flags)
    elif parents[1] is not None:
        path = recorder.tree.path_of(parents[1], target.name)
        effects = arrival(recorder.tree, parents[1], target, replaced=replaced is not None)
        recorder.record(
            caller, call, source.real_path(), *effects, target_path=path
        )
    return Value()


def _check_outside(
    recorder: Recorder,
    source: Place,
    target: Place,
    parents: tuple[NodeId | None, NodeId | None],
    status: os.stat_result | None,
    flags: int,
) -> None:
    if status is None:
        return
    if parents[0] is None:
        recorder.policy.overwrite(source.real_path(), status, "rename away")
    if parents[1] is None and not flags & _RENAME_NOREPLACE:
        recorder.policy.overwrite(target.real_path(), target.lookup(), "rename over")
        if parents[0] is not None:
            recorder.policy.note_created(target.real_path())
    if parents == (None, None):
        recorder.policy.note_renamed(source.real_path(), target.real_path())
    if flags & _RENAME_EXCHANGE and None in parents and parents != (None, None):
        raise PassOn


def _record_move(
    recorder: Recorder,
    caller: Caller,
    call: str,
    source: tuple[NodeId, Place],
    target: tuple[NodeId, Place],
    flags: int,
) -> None:
    tree = recorder.tree
    exchange = bool(flags & _RENAME_EXCHANGE)
    old, new = (source[0], source[1].name), (target[0], target[1].name)
    paths = (tree.path_of(*old), tree.path_of(*new))
    tree.rename(old, new, exchange=exchange)
    recorder.record(
        caller,
        call,
        paths[0],
        Rename(*old, *new, exchange),
        touched(source[0], source[1].directory),
        touched(target[0], target[1].directory),
        target_path=paths[1],
    )


def _record_departure(
    recorder: Recorder, caller: Caller, call: str, parent: NodeId, source: Place, flags: int
) -> None:
    path = recorder.tree.path_of(parent, source.name)
    recorder.tree.unlink(parent, source.name)
    recorder.record(
        caller,
        call,
        path,
        Unlink(parent, source.name),
        touched(parent, source.directory),
        target_path=b"(outside)",
    )


# --- link ---


def link(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _link(recorder, caller, "link", (AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], 0))


def linkat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _link(recorder, caller, "linkat", arguments)


def _link(recorder: Recorder, caller: Caller, call: str, arguments: Arguments) -> Reply:
    target = caller.place(arguments[2], caller.string(arguments[3]), follow=False)
    try:
        parent = _parent(recorder, target)
        if parent is None:
            if target.lookup() is None:
                recorder.policy.note_created(target.real_path())
            raise PassOn
        recorder.catch_up(caller)
        path = recorder.tree.path_of(parent, target.name)
        try:
            source = _make_link(caller, arguments, target)
        except OSError as error:
            recorder.record(caller, call, path, error=number_of(error))
            return Failure(number_of(error))
        _record_link(recorder, caller, call, parent, target, source)
        return Value()
    finally:
        target.close()


def _make_link(caller: Caller, arguments: Arguments, target: Place) -> bytes:
    """Carry the link out; returns the source's path for people."""
    path = caller.string(arguments[1])
    flags = arguments[4] & 0xFFFFFFFF
    rewritten = caller.rewritten(path)
    through = flags & _AT_SYMLINK_FOLLOW and caller.is_process_descriptor(rewritten)
    if through or (not path and flags & _AT_EMPTY_PATH):
        number = int(rewritten.rsplit(b"/", 1)[1]) if through else arguments[0]
        copy = caller.copy(number)
        try:
            with caller.rights():
                os.link(
                    b"/proc/self/fd/%d" % copy,
                    target.name,
                    dst_dir_fd=target.directory,
                    follow_symlinks=True,
                )
            return b"(unnamed)"
        finally:
            os.close(copy)
    source = caller.place(arguments[0], path, follow=bool(flags & _AT_SYMLINK_FOLLOW))
    try:
        with caller.rights():
            os.link(
                source.name,
                target.name,
                src_dir_fd=source.directory,
                dst_dir_fd=target.directory,
                follow_symlinks=False,
            )
        return source.real_path()
    finally:
        source.close()


def _record_link(
    recorder: Recorder, caller: Caller, call: str, parent: NodeId, target: Place, source: bytes
) -> None:
    tree = recorder.tree
    path = tree.path_of(parent, target.name)
    status = target.lookup()
    node = tree.linked(status) if status is not None else None
    if node is None:
        effects = arrival(tree, parent, target, replaced=False)
        recorder.record(caller, call, source, *effects, target_path=path)
        return
    shown = tree.path(node)
    tree.link(parent, target.name, node)
    recorder.record(
        caller,
        call,
        shown,
        Link(parent, target.name, node),
        touched(parent, target.directory),
        target_path=path,
    )


# --- unlink ---


def unlink(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _unlink(recorder, caller, "unlink", AT_FDCWD, arguments[0], directory=False)


def rmdir(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _unlink(recorder, caller, "rmdir", AT_FDCWD, arguments[0], directory=True)


def unlinkat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    directory = bool(arguments[2] & _AT_REMOVEDIR)
    return _unlink(recorder, caller, "unlinkat", arguments[0], arguments[1], directory=directory)


def _unlink(
    recorder: Recorder, caller: Caller, call: str, base: int, address: int, *, directory: bool
) -> Reply:
    place = caller.place(base, caller.string(address), follow=False)
    try:
        parent = _parent(recorder, place)
        if parent is None:
            if recorder.directory(place) is None:
                recorder.policy.overwrite(place.real_path(), place.lookup(), "remove")
            raise PassOn
        recorder.catch_up(caller)
        path = recorder.tree.path_of(parent, place.name)
        try:
            with caller.rights():
                (os.rmdir if directory else os.unlink)(place.name, dir_fd=place.directory)
        except OSError as error:
            recorder.record(caller, call, path, error=number_of(error))
            return Failure(number_of(error))
        recorder.tree.unlink(parent, place.name)
        recorder.record(
            caller, call, path, Unlink(parent, place.name), touched(parent, place.directory)
        )
        return Value()
    finally:
        place.close()


# --- new names ---


def mkdir(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mkdir(recorder, caller, "mkdir", AT_FDCWD, arguments[0], arguments[1])


def mkdirat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _mkdir(recorder, caller, "mkdirat", arguments[0], arguments[1], arguments[2])


def _mkdir(
    recorder: Recorder, caller: Caller, call: str, base: int, address: int, mode: int
) -> Reply:
    def make(place: Place) -> None:
        os.mkdir(place.name, mode & 0o7777, dir_fd=place.directory)

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
        os.symlink(target, place.name, dir_fd=place.directory)

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
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is None:
        raise PassOn

    def make(place: Place) -> None:
        os.mknod(place.name, mode, device, dir_fd=place.directory)

    return _create(recorder, caller, call, base, caller.string(address), kind, make)


def bind(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """A socket's name on a path. Bound from the caller's directory: its name stays as given."""
    number, address, length = arguments[:3]
    length &= 0xFFFFFFFF
    raw = bytes(caller.memory([(address, min(length, 110))]))
    if len(raw) < 3 or int.from_bytes(raw[:2], "little") != socket.AF_UNIX or not raw[2]:
        raise PassOn
    path = raw[2:].split(b"\0", 1)[0]

    def make(place: Place) -> None:
        copy = caller.copy(number)
        here = os.open(b".", os.O_PATH | os.O_DIRECTORY)
        try:
            base = caller.base(AT_FDCWD)
            try:
                os.fchdir(base)
                with socket.socket(fileno=os.dup(copy)) as ours:
                    ours.bind(path)
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
        parent = _parent(recorder, place)
        if parent is None:
            if place.lookup() is None:
                recorder.policy.note_created(place.real_path())
            raise PassOn
        recorder.catch_up(caller)
        shown = recorder.tree.path_of(parent, place.name)
        try:
            with caller.rights():
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
            modified(node, status),
            touched(parent, place.directory),
        )
        return Value()
    finally:
        place.close()
