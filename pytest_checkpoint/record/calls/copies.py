"""Copies between descriptors: the source is read at that moment, and what was read is written."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Final

from pytest_checkpoint.record.caller import Caller, is_regular
from pytest_checkpoint.record.calls.data import put_data, writable
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import Failure, PassOn, Reply, Value

Arguments = tuple[int, ...]

_MOST: Final = 64 << 20
"""Copies may stop short; callers go on."""
_PIECE: Final = 1 << 16
"""What sendfile copies at once."""

End = tuple[int, int]
"""A descriptor of the caller's and the address of its offset, or 0 for the descriptor's own."""


def sendfile(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    target, source, source_offset, count = arguments[:4]
    ends = (source, source_offset), (target, 0)
    return _copy(
        recorder, caller, "sendfile", *ends, count, errno.EINVAL, errno.EINVAL, piecewise=True
    )


def copy_file_range(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    source, source_offset, target, target_offset, count, flags = arguments[:6]
    if flags & 0xFFFFFFFF:
        raise PassOn
    ends = (source, source_offset), (target, target_offset)
    return _copy(recorder, caller, "copy_file_range", *ends, count, errno.EBADF, errno.EISDIR)


def splice(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Into a recorded file: refused as a file system without splice would, so that callers write.

    What is in a pipe cannot be read without taking it.
    """
    copy = caller.copy(arguments[2])
    try:
        status = os.fstat(copy)
        if recorder.file(status) is None:
            recorder.policy.written(status, b"/proc/self/fd/%d" % copy)
            raise PassOn
    finally:
        os.close(copy)
    return Failure(errno.EINVAL)


def _copy(
    recorder: Recorder,
    caller: Caller,
    call: str,
    source: End,
    target: End,
    count: int,
    appending: int,
    of_directory: int,
    *,
    piecewise: bool = False,
) -> Reply:
    """The errors of this call for a target opened with O_APPEND, and for a directory's content.

    ``piecewise``: within a file it may copy onto what it has still to copy, piece after piece.
    """
    output = caller.opened(target[0])
    try:
        status = os.fstat(output)
        node = recorder.file(status)
        mode = fcntl.fcntl(output, fcntl.F_GETFL)
        if node is None:
            recorder.policy.written(status, b"/proc/self/fd/%d" % output)
        if node is None or not writable(mode):
            raise PassOn
        input_ = caller.opened(source[0])
        try:
            from_status = os.fstat(input_)
            if not is_regular(from_status):
                is_directory = stat.S_ISDIR(from_status.st_mode)
                return Failure(of_directory if is_directory else errno.EINVAL)
            if mode & os.O_APPEND:
                return Failure(appending)
            position = _offset(caller, input_, source[1])
            offset = _offset(caller, output, target[1])
            count = min(count, _MOST)
            if os.path.samestat(status, from_status):
                there = min(count, max(0, from_status.st_size - position))
                if abs(position - offset) < there:
                    if not piecewise:
                        return Failure(errno.EINVAL)
                    count = min(count, _PIECE)
            try:
                data = bytearray(os.pread(input_, count, position))
            except OSError as error:
                return Failure(number_of(error))
            if not data:
                return Value(0)
            place = offset if target[1] else None
            reply = put_data(recorder, caller, call, node, output, data, place, 0, mode)
            if isinstance(reply, Value):
                _advance(caller, input_, source[1], position + reply.value)
                if target[1]:
                    _advance(caller, output, target[1], offset + reply.value)
            return reply
        finally:
            os.close(input_)
    finally:
        os.close(output)


def _offset(caller: Caller, descriptor: int, address: int) -> int:
    if not address:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    offset = int.from_bytes(caller.memory([(address, 8)]), "little", signed=True)
    if offset < 0:
        raise PassOn
    return offset


def _advance(caller: Caller, descriptor: int, address: int, position: int) -> None:
    if address:
        caller.put(address, position.to_bytes(8, "little", signed=True))
    else:
        os.lseek(descriptor, position, os.SEEK_SET)
