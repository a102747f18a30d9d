"""Calls that make, move and remove names."""

from __future__ import annotations

import errno
import os
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.arrival import arrival
from pytest_checkpoint.record.caller import AT_FDCWD, Caller, Place, signed
from pytest_checkpoint.record.operations import Link, Rename, Unlink
from pytest_checkpoint.record.recorder import Recorder, number_of, touched
from pytest_checkpoint.record.reply import Failure, PassOn, Reply, Value
from pytest_checkpoint.record.tracked import EVENTS
from pytest_checkpoint.tree.image import ROOT, NodeId

Arguments = tuple[int, ...]

_AT_REMOVEDIR: Final = 0x200
_AT_SYMLINK_FOLLOW: Final = 0x400
_AT_EMPTY_PATH: Final = 0x1000
_RENAME_NOREPLACE, _RENAME_EXCHANGE, _RENAME_WHITEOUT = 1, 2, 4


def parent_of(recorder: Recorder, place: Place) -> NodeId | None:
    """The recorded directory of a place; None for outside and for the events file."""
    parent = recorder.directory(place)
    if parent == ROOT and place.name == EVENTS:
        return None
    return parent


# --- rename ---


def rename(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _rename(
        recorder, caller, "rename", (AT_FDCWD, arguments[0]), (AT_FDCWD, arguments[1]), 0
    )


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
    parents = (parent_of(recorder, source), parent_of(recorder, target))
    status = source.lookup()
    if parents[0] is None or parents[1] is None:
        _check_outside(recorder, source, target, parents, status, flags)
    if parents == (None, None):
        raise PassOn
    if flags & _RENAME_WHITEOUT:
        return Failure(errno.EINVAL)  # as on most file systems
    if flags & _RENAME_EXCHANGE and None in parents:
        return Failure(errno.EXDEV)  # as if the recorded tree were a file system of its own
    recorder.catch_up(caller)
    replaced = target.lookup()
    try:
        kernel.rename_with_flags(
            source.directory, source.argument, target.directory, target.argument, flags
        )
    except OSError as error:
        _record_failed_move(recorder, caller, call, (source, target), parents, number_of(error))
        return Failure(number_of(error))
    if parents[0] is None or parents[1] is None:
        arrives = parents[1] is not None
        recorder.policy.note_renamed(source.real_path(), target.real_path(), arrives=arrives)
    if parents[0] is not None and parents[1] is not None:
        _record_move(recorder, caller, call, (parents[0], source), (parents[1], target), flags)
    elif parents[0] is not None:
        recorder.policy.note_created(target.real_path())
        _record_departure(recorder, caller, call, parents[0], source)
    elif parents[1] is not None:
        path = recorder.tree.path_of(parents[1], target.name)
        effects = arrival(recorder.tree, parents[1], target, replaced=replaced is not None)
        recorder.record(caller, call, source.real_path(), *effects, target_path=path)
    return Value()


def _record_failed_move(
    recorder: Recorder,
    caller: Caller,
    call: str,
    places: tuple[Place, Place],
    parents: tuple[NodeId | None, NodeId | None],
    error: int,
) -> None:
    shown = [
        place.real_path() if parent is None else recorder.tree.path_of(parent, place.name)
        for place, parent in zip(places, parents, strict=True)
    ]
    recorder.record(caller, call, shown[0], target_path=shown[1], error=error)


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
    if parents == (None, None):
        recorder.policy.note_renamed(source.real_path(), target.real_path(), arrives=False)


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
    recorder: Recorder, caller: Caller, call: str, parent: NodeId, source: Place
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
        parent = parent_of(recorder, target)
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
    if through or (not path and flags & _AT_EMPTY_PATH and signed(arguments[0]) != AT_FDCWD):
        if through:
            copy = caller.handle(AT_FDCWD, rewritten, follow=True)
        else:
            copy = caller.copy(arguments[0])
        try:
            os.link(
                b"/proc/self/fd/%d" % copy,
                target.argument,
                dst_dir_fd=target.directory,
                follow_symlinks=True,
            )
            return b"(unnamed)"
        finally:
            os.close(copy)
    source = caller.place(arguments[0], path, follow=bool(flags & _AT_SYMLINK_FOLLOW))
    try:
        os.link(
            source.argument,
            target.argument,
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
        parent = parent_of(recorder, place)
        if parent is None:
            if not directory or _is_empty(place):
                recorder.policy.overwrite(place.real_path(), place.lookup(), "remove")
            raise PassOn
        recorder.catch_up(caller)
        path = recorder.tree.path_of(parent, place.name)
        try:
            (os.rmdir if directory else os.unlink)(place.argument, dir_fd=place.directory)
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


def _is_empty(place: Place) -> bool:
    """Whether rmdir could succeed."""
    try:
        listed = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=place.directory)
    except OSError:
        return False
    try:
        return not os.listdir(listed)
    finally:
        os.close(listed)
