"""Opens that can create or cut a file."""

from __future__ import annotations

import os
import stat
import struct
from typing import Final

from pytest_checkpoint.record.caller import AT_FDCWD, Caller, PassOn, Place, is_regular
from pytest_checkpoint.record.operations import Create, CreateUnnamed, NodeKind, Truncate
from pytest_checkpoint.record.recorder import Recorder, modified, number_of, touched
from pytest_checkpoint.record.reply import Descriptor, Failure, Reply
from pytest_checkpoint.record.tracked import EVENTS
from pytest_checkpoint.tree.image import ROOT, NodeId

Arguments = tuple[int, ...]

_TMPFILE: Final = os.O_TMPFILE
_CHANGING: Final = os.O_CREAT | os.O_TRUNC


def open_(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    address, flags, mode = arguments[:3]
    return _open(recorder, caller, "open", AT_FDCWD, caller.string(address), flags, mode)


def creat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    return _open(
        recorder, caller, "creat", AT_FDCWD, caller.string(arguments[0]), flags, arguments[1]
    )


def openat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    directory, address, flags, mode = arguments[:4]
    return _open(recorder, caller, "openat", directory, caller.string(address), flags, mode)


def openat2(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Its ``resolve`` restrictions are not applied inside the recorded tree."""
    directory, address, how, size = arguments[:4]
    if size < 24:
        raise PassOn
    flags, mode, _ = struct.unpack("=QQQ", caller.memory([(how, 24)]))
    if not flags & _CHANGING and flags & _TMPFILE != _TMPFILE:
        raise PassOn
    return _open(recorder, caller, "openat2", directory, caller.string(address), flags, mode)


def _open(
    recorder: Recorder,
    caller: Caller,
    call: str,
    directory: int,
    path: bytes,
    flags: int,
    mode: int,
) -> Reply:
    flags &= 0x7FFFFFFF
    mode &= 0o7777
    if flags & _TMPFILE == _TMPFILE:
        return _open_unnamed(recorder, caller, call, directory, path, flags, mode)
    rewritten = caller.rewritten(path)
    if caller.is_process_descriptor(rewritten):
        return _reopen(recorder, caller, call, rewritten, flags)
    exclusive = flags & os.O_CREAT and flags & os.O_EXCL
    follow = not (flags & os.O_NOFOLLOW or exclusive)
    place = caller.place(directory, path, follow=bool(follow))
    try:
        parent = recorder.directory(place)
        if parent is None or (parent == ROOT and place.name == EVENTS):
            _outside(recorder, place, flags, is_events=parent is not None)
            raise PassOn
        return _open_inside(recorder, caller, call, place, parent, flags, mode)
    finally:
        place.close()


def _outside(recorder: Recorder, place: Place, flags: int, *, is_events: bool) -> None:
    if is_events:
        return
    status = place.lookup()
    if status is None:
        if flags & os.O_CREAT:
            recorder.policy.note_created(place.real_path())
    elif flags & os.O_TRUNC and is_regular(status):
        node = recorder.tree.file(status)
        if node is None:
            recorder.policy.overwrite(place.real_path(), status, "truncate")


def _open_inside(
    recorder: Recorder,
    caller: Caller,
    call: str,
    place: Place,
    parent: NodeId,
    flags: int,
    mode: int,
) -> Reply:
    status = place.lookup()
    if status is not None and not is_regular(status):
        raise PassOn  # a directory, a link not to be followed, a FIFO that may block: no change
    recorder.catch_up(caller)
    path = recorder.tree.path_of(parent, place.name)
    try:
        with caller.rights():
            file = os.open(place.name, flags & ~os.O_CLOEXEC, mode, dir_fd=place.directory)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    now = os.fstat(file)
    if status is None:
        node = recorder.tree.create(parent, place.name, now, is_directory=False)
        recorder.record(
            caller,
            call,
            path,
            Create(parent, place.name, node, NodeKind.FILE, stat.S_IMODE(now.st_mode)),
            modified(node, now),
            touched(parent, place.directory),
        )
    elif flags & os.O_TRUNC and status.st_size:
        known = recorder.tree.file(now)
        if known is None:
            os.close(file)
            raise PassOn
        recorder.mapped.refresh(known)
        recorder.record(caller, call, path, Truncate(known, 0), modified(known, now))
    return Descriptor(file, bool(flags & os.O_CLOEXEC))


def _reopen(
    recorder: Recorder, caller: Caller, call: str, path: bytes, flags: int
) -> Reply:
    """An open through /proc/PID/fd/N: cuts the file behind that descriptor, creates nothing."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise PassOn from error
    node = recorder.tree.file(status) if is_regular(status) else None
    if node is None or not flags & os.O_TRUNC or not status.st_size:
        raise PassOn
    recorder.catch_up(caller)
    try:
        file = os.open(path, flags & ~os.O_CLOEXEC)
    except OSError as error:
        return Failure(number_of(error))
    recorder.mapped.refresh(node)
    recorder.record(
        caller,
        call,
        recorder.tree.path(node),
        Truncate(node, 0),
        modified(node, os.fstat(file)),
    )
    return Descriptor(file, bool(flags & os.O_CLOEXEC))


def _open_unnamed(
    recorder: Recorder,
    caller: Caller,
    call: str,
    directory: int,
    path: bytes,
    flags: int,
    mode: int,
) -> Reply:
    rewritten = caller.rewritten(path)
    start = (
        os.open(b"/", os.O_PATH | os.O_CLOEXEC)
        if rewritten.startswith(b"/")
        else caller.base(directory)
    )
    try:
        try:
            with caller.rights():
                file = os.open(rewritten, flags & ~os.O_CLOEXEC, mode, dir_fd=start)
            parent = os.stat(rewritten, dir_fd=start)
        except OSError as error:
            return Failure(number_of(error))
    finally:
        os.close(start)
    node_of_parent = recorder.tree.directory((parent.st_dev, parent.st_ino))
    if node_of_parent is not None:
        recorder.catch_up(caller)
        now = os.fstat(file)
        node = recorder.tree.create_unnamed(now)
        recorder.record(
            caller,
            call,
            recorder.tree.path(node_of_parent),
            CreateUnnamed(node, stat.S_IMODE(now.st_mode)),
            modified(node, now),
        )
    return Descriptor(file, bool(flags & os.O_CLOEXEC))
