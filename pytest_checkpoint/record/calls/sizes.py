"""Calls that change how long files are, or where they have holes."""

from __future__ import annotations

import errno
import fcntl
import os

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import AT_FDCWD, Caller, is_regular
from pytest_checkpoint.record.calls.data import allowed, too_big, writable
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Allocate, Truncate
from pytest_checkpoint.record.policy import Refused
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import DONE, Failure, PassOn, Reply
from pytest_checkpoint.record.tracked import identity_of
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_KEEP_SIZE, _PUNCH_HOLE, _COLLAPSE, _ZERO_RANGE, _INSERT = 1, 2, 8, 16, 32


def ftruncate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, size = arguments[:2]
    copy = caller.copy(number)
    try:
        status = os.fstat(copy)
        if not writable(fcntl.fcntl(copy, fcntl.F_GETFL)) or size >> 63:
            raise PassOn
        node = recorder.file(status)
        if node is None:
            check_cut(recorder, b"/proc/self/fd/%d" % copy, status, size)
            raise PassOn
        _intend_resize(recorder, caller, "ftruncate", node, size)
        return _resize(recorder, caller, "ftruncate", node, copy, size)
    finally:
        os.close(copy)


def check_cut(recorder: Recorder, path: bytes, status: os.stat_result, size: int) -> None:
    """A file outside is about to be cut through a descriptor; ``path`` leads to it."""
    if is_regular(status) and size < status.st_size and status.st_nlink:
        if identity_of(status) in recorder.tree.beside:
            name = recorder.tree.variable(identity_of(status))
            raise Refused(
                f"the job tried to cut ${name}: it was refused; open that file for "
                "appending (mode 'a' in Python, >> in a shell)"
            )
        recorder.policy.overwrite(os.readlink(path), status, "truncate")
    recorder.policy.written(status, None if size == status.st_size else path)


def truncate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    address, size = arguments[:2]
    handle = caller.handle(AT_FDCWD, caller.string(address), follow=True)
    path = b"/proc/self/fd/%d" % handle
    try:
        status = os.fstat(handle)
        node = recorder.file(status)
        if node is None:
            check_cut(recorder, path, status, size)
        if node is None or size >> 63:
            raise PassOn
        _intend_resize(recorder, caller, "truncate", node, size)
        # By its path, not by a descriptor: whoever watches the file sees no open and no close.
        return _resize(recorder, caller, "truncate", node, handle, size, path)
    finally:
        os.close(handle)


def _intend_resize(recorder: Recorder, caller: Caller, call: str, node: NodeId, size: int) -> None:
    recorder.intend(
        caller, call, recorder.tree.path(node), deed=Deed.RESIZE, node=node, length=size
    )


def _resize(
    recorder: Recorder,
    caller: Caller,
    call: str,
    node: NodeId,
    descriptor: int,
    size: int,
    way: bytes | None = None,
) -> Reply:
    """``way``: a path that leads to it, where the descriptor is none to change it by."""
    path = recorder.tree.path(node)
    if allowed(recorder, caller, os.fstat(descriptor).st_size, size) < size:
        return too_big(recorder, caller, call, path)
    try:
        os.truncate(descriptor if way is None else way, size)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    recorder.mapped.resized(node, size)
    also = recorder.modified(node, descriptor)
    recorder.record(caller, call, path, Truncate(node, size), *also)
    return DONE


def fallocate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, mode, offset, length = arguments[:4]
    mode &= 0xFFFFFFFF
    copy = caller.copy(number)
    try:
        status = os.fstat(copy)
        node = recorder.file(status)
        if node is None:
            recorder.policy.written(status, b"/proc/self/fd/%d" % copy)
        if node is None or not writable(fcntl.fcntl(copy, fcntl.F_GETFL)):
            raise PassOn
        if mode & (_COLLAPSE | _INSERT):
            return Failure(errno.EOPNOTSUPP)  # as on tmpfs: callers must have another way
        if not length or offset >> 63 or length >> 63:
            raise PassOn  # the kernel refuses it
        path = recorder.tree.path(node)
        deed = Deed.CLEAR if mode & _PUNCH_HOLE else Deed.ALLOCATE
        recorder.intend(
            caller, "fallocate", path, deed=deed, node=node, start=offset, length=length
        )
        end = offset + length
        if not mode & _KEEP_SIZE and allowed(recorder, caller, status.st_size, end) < end:
            return too_big(recorder, caller, "fallocate", path)
        try:
            kernel.fallocate(copy, mode, offset, length)
        except OSError as error:
            recorder.record(caller, "fallocate", path, error=number_of(error))
            return Failure(number_of(error))
        zero, keep_size = bool(mode & (_PUNCH_HOLE | _ZERO_RANGE)), bool(mode & _KEEP_SIZE)
        recorder.mapped.allocated(node, offset, length, zero=zero, keep_size=keep_size)
        effect = Allocate(node, offset, length, zero=zero, keep_size=keep_size)
        also = recorder.modified(node, copy)
        recorder.record(caller, "fallocate", path, effect, *also)
        return DONE
    finally:
        os.close(copy)
