"""Calls that make, move and remove names."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.arrival import arrival
from pytest_checkpoint.record.caller import AT_FDCWD, Caller, signed
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Link, Rename, Unlink
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import DONE, Fails, Failure, PassOn, Reply, failing
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.tree.image import ROOT, NodeId

Arguments = tuple[int, ...]

_AT_REMOVEDIR: Final = 0x200
_AT_SYMLINK_FOLLOW: Final = 0x400
_AT_EMPTY_PATH: Final = 0x1000
_RENAME_NOREPLACE, _RENAME_EXCHANGE, _RENAME_WHITEOUT = 1, 2, 4


def parent_of(recorder: Recorder, place: Place) -> NodeId | None:
    """The recorded directory of a place; None for outside, and for what lies beside it."""
    parent = place.node
    if parent is None:
        parent = recorder.directory(place)
    if parent == ROOT and place.name in BESIDE:
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
    paths = caller.strings(old[1], new[1])
    source = caller.place(old[0], paths[0], follow=False)
    try:
        target = caller.place(new[0], paths[1], follow=False)
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
    if parents[0] is None or parents[1] is None:
        _check_outside(recorder, source, target, parents, flags)
    if parents == (None, None):
        raise PassOn
    if flags & _RENAME_WHITEOUT:
        return Failure(errno.EINVAL)  # as on most file systems
    if flags & _RENAME_EXCHANGE and None in parents:
        return Failure(errno.EXDEV)  # as if the recorded tree were a file system of its own
    shown = _shown(recorder, (source, target), parents)
    recorder.intend(caller, call, shown[0], shown[1], deed=Deed.MOVE)
    replaced = parents[0] is None and target.lookup() is not None
    try:
        kernel.rename_with_flags(
            source.directory, source.argument, target.directory, target.argument, flags
        )
    except OSError as error:
        for place in (source, target):
            place.lookup()  # a name that cannot even be looked up fails unrecorded
        recorder.record(caller, call, shown[0], target_path=shown[1], error=number_of(error))
        return Failure(number_of(error))
    if parents[0] is None or parents[1] is None:
        arrives = parents[1] is not None
        recorder.policy.note_renamed(source.real_path(), target.real_path(), arrives=arrives)
    if parents[0] is not None and parents[1] is not None:
        moved = (parents[0], source), (parents[1], target)
        _record_move(recorder, caller, call, *moved, shown, flags)
    elif parents[0] is not None:
        recorder.policy.note_created(target.real_path())
        _record_departure(recorder, caller, call, parents[0], source, shown)
    elif parents[1] is not None:
        effects = arrival(recorder.tree, parents[1], target, replaced=replaced)
        recorder.record(caller, call, shown[0], *effects, target_path=shown[1])
    return DONE


def _shown(
    recorder: Recorder,
    places: tuple[Place, Place],
    parents: tuple[NodeId | None, NodeId | None],
) -> tuple[bytes, bytes]:
    """The paths of a move, as they are recorded."""
    (source, target), (old, new) = places, parents
    return (
        source.real_path() if old is None else recorder.tree.path_of(old, source.name),
        b"(outside)" if new is None else recorder.tree.path_of(new, target.name),
    )


def _check_outside(
    recorder: Recorder,
    source: Place,
    target: Place,
    parents: tuple[NodeId | None, NodeId | None],
    flags: int,
) -> None:
    status = source.lookup()
    if status is None:
        return
    if parents[0] is None:
        recorder.policy.overwrite(source.real_path(), status, "rename away")
    if parents[1] is None:
        there = target.lookup()
        if there is None:
            recorder.policy.creates(target.real_path())
        elif not flags & _RENAME_NOREPLACE:
            recorder.policy.overwrite(target.real_path(), there, "rename over")
    if parents == (None, None):
        recorder.policy.note_renamed(source.real_path(), target.real_path(), arrives=False)


def _record_move(
    recorder: Recorder,
    caller: Caller,
    call: str,
    source: tuple[NodeId, Place],
    target: tuple[NodeId, Place],
    shown: tuple[bytes, bytes],
    flags: int,
) -> None:
    exchange = bool(flags & _RENAME_EXCHANGE)
    old, new = (source[0], source[1].name), (target[0], target[1].name)
    recorder.tree.rename(old, new, exchange=exchange)
    recorder.record(
        caller,
        call,
        shown[0],
        Rename(*old, *new, exchange),
        *recorder.touched(*source, target),
        target_path=shown[1],
    )


def _record_departure(
    recorder: Recorder,
    caller: Caller,
    call: str,
    parent: NodeId,
    source: Place,
    shown: tuple[bytes, bytes],
) -> None:
    recorder.tree.unlink(parent, source.name)
    recorder.record(
        caller,
        call,
        shown[0],
        Unlink(parent, source.name),
        *recorder.touched(parent, source),
        target_path=shown[1],
    )


# --- link ---


def link(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _link(recorder, caller, "link", (AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], 0))


def linkat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _link(recorder, caller, "linkat", arguments)


def _link(recorder: Recorder, caller: Caller, call: str, arguments: Arguments) -> Reply:
    try:
        target = caller.place(arguments[2], caller.string(arguments[3]), follow=False)
    except Fails:
        with _link_source(recorder, caller, arguments) as source:
            source.look()  # the kernel looks there first, and one error is told
        raise
    try:
        parent = parent_of(recorder, target)
        if parent is None:
            if target.lookup() is None:
                recorder.policy.note_created(target.real_path())
            raise PassOn
        with _link_source(recorder, caller, arguments) as source:
            path = recorder.tree.path_of(parent, target.name)
            recorder.intend(caller, call, source.shown, path, deed=Deed.LINK, node=source.node)
            try:
                source.link_to(target)
            except OSError as error:
                recorder.record(
                    caller, call, source.shown, target_path=path, error=number_of(error)
                )
                return Failure(number_of(error))
            _record_link(recorder, caller, call, parent, target, source.shown)
        return DONE
    finally:
        target.close()


@dataclass(frozen=True, slots=True)
class _LinkSource:
    """What is to get one more name."""

    path: bytes
    directory: int | None
    """Where ``path`` starts; None: it is a magic link, to be followed."""
    node: NodeId | None
    """None: it lies outside."""
    shown: bytes

    def look(self) -> None:
        """:class:`Fails` where nothing is to be found."""
        try:
            os.stat(self.path, dir_fd=self.directory, follow_symlinks=self.directory is None)
        except OSError as error:
            raise failing(error) from error

    def link_to(self, target: Place) -> None:
        os.link(
            self.path,
            target.argument,
            src_dir_fd=self.directory,
            dst_dir_fd=target.directory,
            follow_symlinks=self.directory is None,
        )


@contextmanager
def _link_source(recorder: Recorder, caller: Caller, arguments: Arguments) -> Iterator[_LinkSource]:
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
            node = recorder.tree.linkable(os.fstat(copy))
            shown = b"(unnamed)" if node is None else recorder.tree.path(node)
            yield _LinkSource(b"/proc/self/fd/%d" % copy, None, node, shown)
        finally:
            os.close(copy)
        return
    source = caller.place(arguments[0], path, follow=bool(flags & _AT_SYMLINK_FOLLOW))
    try:
        status = source.lookup()
        node = None if status is None else recorder.tree.linkable(status)
        shown = source.real_path() if node is None else recorder.tree.path(node)
        yield _LinkSource(source.argument, source.directory, node, shown)
    finally:
        source.close()


def _record_link(
    recorder: Recorder, caller: Caller, call: str, parent: NodeId, target: Place, shown: bytes
) -> None:
    tree = recorder.tree
    path = tree.path_of(parent, target.name)
    status = target.lookup()
    node = tree.linked(status) if status is not None else None
    if node is None:
        effects = arrival(tree, parent, target, replaced=False)
        recorder.record(caller, call, shown, *effects, target_path=path)
        return
    tree.link(parent, target.name, node)
    recorder.record(
        caller,
        call,
        shown,
        Link(parent, target.name, node),
        *recorder.touched(parent, target),
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
        path = recorder.tree.path_of(parent, place.name)
        recorder.intend(caller, call, path, deed=Deed.REMOVE)
        try:
            (os.rmdir if directory else os.unlink)(place.argument, dir_fd=place.directory)
        except OSError as error:
            recorder.record(caller, call, path, error=number_of(error))
            return Failure(number_of(error))
        recorder.tree.unlink(parent, place.name)
        recorder.record(
            caller, call, path, Unlink(parent, place.name), *recorder.touched(parent, place)
        )
        return DONE
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
