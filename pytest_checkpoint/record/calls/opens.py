"""Opens that can create or cut a file."""

from __future__ import annotations

import os
import stat
import struct
from typing import Final

from pytest_checkpoint.record.caller import AT_FDCWD, Caller, is_regular
from pytest_checkpoint.record.calls.sizes import check_cut
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Create, CreateUnnamed, NodeKind, Truncate
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import CannotRecord, Descriptor, Failure, PassOn, Reply, failing
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.tree.image import ROOT, NodeId, printable

Arguments = tuple[int, ...]

_TMPFILE: Final = os.O_TMPFILE
_MAY_BLOCK: Final = (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK)
_CHANGING: Final = os.O_CREAT | os.O_TRUNC
_EXCLUSIVE: Final = os.O_CREAT | os.O_EXCL


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
    if flags & os.O_PATH:
        raise PassOn  # it opens nothing: neither makes nor cuts, whatever else is asked for
    mode &= 0o7777
    if flags & _TMPFILE == _TMPFILE:
        return _open_unnamed(recorder, caller, call, directory, path, flags, mode)
    if flags & os.O_CREAT:
        made = _make(recorder, caller, call, path, flags, mode)
        if made is not None:
            return made
    rewritten = caller.rewritten(path)
    follow = not (flags & os.O_NOFOLLOW or flags & _EXCLUSIVE == _EXCLUSIVE)
    if caller.is_process_descriptor(rewritten):
        if not follow:
            raise PassOn  # it is a link, and the kernel refuses it
        return _reopen(recorder, caller, call, rewritten, flags)
    place = caller.place(directory, path, follow=follow)
    try:
        parent = recorder.directory(place)
        if parent is None or (parent == ROOT and place.name in BESIDE):
            return _open_outside(recorder, caller, call, place, flags)
        return _open_inside(recorder, caller, call, place, parent, flags, mode)
    finally:
        place.close()


def _make(
    recorder: Recorder, caller: Caller, call: str, path: bytes, flags: int, mode: int
) -> Reply | None:
    """Create a file where nothing is recorded to stand; None: look first."""
    place = caller.certain_place(path)
    if place is None or place.node is None or recorder.tree.holds(place.node, place.name):
        return None
    parent = place.node
    if parent == ROOT and place.name in BESIDE:
        return None
    shown = recorder.tree.path_of(parent, place.name)
    recorder.intend(caller, call, shown, deed=Deed.MAKE)
    try:
        file = _create(recorder, caller, place.name, flags | os.O_EXCL, mode, place.directory)
    except FileExistsError:
        return None  # it was made by who does not belong to the job
    except OSError as error:
        place.lookup()  # a name that cannot even be looked up fails unrecorded
        recorder.record(caller, call, shown, error=number_of(error))
        return Failure(number_of(error))
    _record_made(recorder, caller, call, place, parent, shown, file)
    return Descriptor(file, bool(flags & os.O_CLOEXEC))


def _create(
    recorder: Recorder, caller: Caller, name: bytes, flags: int, mode: int, directory: int | None
) -> int:
    """Open a file that may be a new one: with the caller's umask, which may still be ours."""
    if not recorder.umask_varies:
        return os.open(name, flags, mode, dir_fd=directory)
    with caller.own_umask():
        return os.open(name, flags, mode, dir_fd=directory)


def _record_made(
    recorder: Recorder,
    caller: Caller,
    call: str,
    place: Place,
    parent: NodeId,
    path: bytes,
    file: int,
) -> None:
    now = os.fstat(file)
    node = recorder.tree.create(parent, place.name, now, is_directory=False)
    recorder.record(
        caller,
        call,
        path,
        Create(parent, place.name, node, NodeKind.FILE, stat.S_IMODE(now.st_mode)),
        *recorder.made(node, now),
        *recorder.touched(parent, place),
    )


def _open_outside(recorder: Recorder, caller: Caller, call: str, place: Place, flags: int) -> Reply:
    status = place.found()
    if status is None:
        if flags & os.O_CREAT:
            recorder.policy.note_created(place.real_path())
        raise PassOn
    if not flags & os.O_TRUNC or not is_regular(status) or flags & _EXCLUSIVE == _EXCLUSIVE:
        raise PassOn
    handle = os.open(place.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=place.directory)
    try:
        return _reopen(recorder, caller, call, b"/proc/self/fd/%d" % handle, flags)
    finally:
        os.close(handle)


def _open_inside(
    recorder: Recorder,
    caller: Caller,
    call: str,
    place: Place,
    parent: NodeId,
    flags: int,
    mode: int,
) -> Reply:
    status = place.found()
    if status is not None and stat.S_IFMT(status.st_mode) in _MAY_BLOCK:
        raise PassOn  # nothing is changed
    path = recorder.tree.path_of(parent, place.name)
    cut = status if status is not None and _cuts(status, flags) else None
    node = recorder.tree.file(cut) if cut is not None else None
    if node is not None:
        _intend_cut(recorder, caller, call, node)
    else:
        recorder.intend(caller, call, path, deed=_deed(status, flags))
    try:
        file = _create(recorder, caller, place.argument, flags, mode, place.directory)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    if status is None:
        _record_made(recorder, caller, call, place, parent, path, file)
    elif node is not None:
        _record_cut(recorder, caller, call, node, file)
    elif cut is not None:
        raise CannotRecord(
            f"{printable(path)} was cut, but how it came to be there was not seen: it was "
            "made by a process that does not belong to the job"
        )
    return Descriptor(file, bool(flags & os.O_CLOEXEC))


def _cuts(status: os.stat_result, flags: int) -> bool:
    """Whether an open with these flags empties what is there."""
    exclusive = flags & _EXCLUSIVE == _EXCLUSIVE
    return bool(flags & os.O_TRUNC and is_regular(status) and status.st_size and not exclusive)


def _deed(status: os.stat_result | None, flags: int) -> Deed:
    """Of an open that cuts nothing."""
    if status is None or flags & _EXCLUSIVE == _EXCLUSIVE:
        return Deed.MAKE
    return Deed.OPEN if flags & (os.O_WRONLY | os.O_RDWR) else Deed.LOOK


def _intend_cut(recorder: Recorder, caller: Caller, call: str, node: NodeId) -> None:
    recorder.intend(caller, call, recorder.tree.path(node), deed=Deed.RESIZE, node=node)


def _record_cut(recorder: Recorder, caller: Caller, call: str, node: NodeId, file: int) -> None:
    recorder.mapped.resized(node, 0)
    also = recorder.modified(node, file)
    recorder.record(caller, call, recorder.tree.path(node), Truncate(node, 0), *also)


def _reopen(recorder: Recorder, caller: Caller, call: str, path: bytes, flags: int) -> Reply:
    """An open of what exists outside: through /proc/PID/fd/N, or another name of the file.

    It creates nothing, but cuts the file, which may be a recorded one all the same.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        raise failing(error) from error
    node = recorder.file(status)
    if node is None and flags & os.O_TRUNC:
        check_cut(recorder, path, status, 0)
    if node is None or not flags & os.O_TRUNC:
        raise PassOn
    if status.st_size:
        _intend_cut(recorder, caller, call, node)
    else:
        recorder.intend(caller, call, recorder.tree.path(node), deed=Deed.OPEN, node=node)
    try:
        file = os.open(path, flags & ~(os.O_CLOEXEC | os.O_NOFOLLOW | os.O_EXCL))
    except OSError as error:
        return Failure(number_of(error))
    if status.st_size:
        _record_cut(recorder, caller, call, node, file)
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
    handle = caller.handle(directory, path, follow=True)
    try:
        parent = os.fstat(handle)
        node_of_parent = recorder.tree.directory((parent.st_dev, parent.st_ino))
        if node_of_parent is None:
            raise PassOn
        path = recorder.tree.path(node_of_parent)
        recorder.intend(caller, call, path, deed=Deed.MAKE)
        try:
            file = _create(recorder, caller, b".", flags, mode, handle)
        except OSError as error:
            recorder.record(caller, call, path, error=number_of(error))
            return Failure(number_of(error))
    finally:
        os.close(handle)
    now = os.fstat(file)
    node = recorder.tree.create_unnamed(now)
    recorder.record(
        caller,
        call,
        path,
        CreateUnnamed(node, stat.S_IMODE(now.st_mode)),
        *recorder.made(node, now),
    )
    return Descriptor(file, bool(flags & os.O_CLOEXEC))
