"""Calls that put bytes into files: write and its kin, copies between descriptors, sizes."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import Caller, AT_FDCWD, PassOn, is_regular
from pytest_checkpoint.record.operations import (
    Allocate,
    Effect,
    Event,
    Origin,
    Truncate,
    Write,
)
from pytest_checkpoint.record.recorder import Recorder, modified, number_of
from pytest_checkpoint.record.reply import Failure, Reply, Value
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_MOST: Final = 0x7FFFF000
"""The kernel writes no more than this in one call."""
_COPY_MOST: Final = 64 << 20
"""Copies between descriptors may stop short; callers go on."""
_VECTORS_MOST: Final = 1024
_RWF_SYNCED: Final = 2 | 4  # RWF_DSYNC | RWF_SYNC
_RWF_APPEND: Final = 16
_KEEP_SIZE, _PUNCH_HOLE, _COLLAPSE, _ZERO_RANGE, _INSERT = 1, 2, 8, 16, 32


def write(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, address, count = arguments[:3]
    return _put(recorder, caller, "write", number, [(address, min(count, _MOST))])


def pwrite64(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, address, count, offset = arguments[:4]
    return _put(recorder, caller, "pwrite64", number, [(address, min(count, _MOST))], offset)


def writev(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, address, count = arguments[:3]
    return _put(recorder, caller, "writev", number, (address, count))


def pwritev(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, address, count, offset = arguments[:4]
    return _put(recorder, caller, "pwritev", number, (address, count), offset)


def pwritev2(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, address, count, offset, _, flags = arguments[:6]
    place = None if offset == 0xFFFFFFFFFFFFFFFF else offset
    return _put(recorder, caller, "pwritev2", number, (address, count), place, flags & 0xFFFFFFFF)


def _vectors(caller: Caller, address: int, count: int) -> list[tuple[int, int]]:
    count &= 0xFFFFFFFF
    if count > _VECTORS_MOST:
        raise PassOn
    packed = caller.memory([(address, 16 * count)])
    left = _MOST
    ranges = []
    for base, length in struct.iter_unpack("=QQ", packed):
        length = min(length, left)
        left -= length
        ranges.append((base, length))
    return ranges


def _put(
    recorder: Recorder,
    caller: Caller,
    call: str,
    number: int,
    source: list[tuple[int, int]] | tuple[int, int],
    offset: int | None = None,
    flags: int = 0,
) -> Reply:
    """``source``: ranges of the caller's memory, or (address, count) of an iovec array."""
    is_events = recorder.is_events(caller, number)
    node = None if is_events else recorder.tracked_file(caller, number)
    ranges = source if isinstance(source, list) else _vectors(caller, *source)
    copy = caller.copy(number)
    try:
        mode = fcntl.fcntl(copy, fcntl.F_GETFL)
        if mode & os.O_ACCMODE == os.O_RDONLY or (offset is not None and offset >> 63):
            raise PassOn
        data = caller.memory(ranges)
        if node is None:
            return _put_event(recorder, caller, call, copy, data)
        if not data:
            raise PassOn
        recorder.catch_up(caller)
        return _put_data(recorder, caller, call, node, copy, data, offset, flags, mode)
    finally:
        os.close(copy)


def _put_event(
    recorder: Recorder, caller: Caller, call: str, copy: int, data: bytearray
) -> Reply:
    recorder.catch_up(caller)
    count = os.write(copy, data)
    recorder.record(caller, call, b"events", Event(bytes(data[:count])))
    return Value(count)


def _put_data(
    recorder: Recorder,
    caller: Caller,
    call: str,
    node: NodeId,
    copy: int,
    data: bytearray,
    offset: int | None,
    flags: int,
    mode: int,
) -> Reply:
    path = recorder.tree.path(node)
    if mode & os.O_APPEND or flags & _RWF_APPEND:
        start = os.fstat(copy).st_size
    elif offset is None:
        start = os.lseek(copy, 0, os.SEEK_CUR)
    else:
        start = offset
    buffer: bytearray | mmap.mmap = data
    if mode & os.O_DIRECT:  # wants aligned memory; a map of its own is
        buffer = mmap.mmap(-1, len(data))
        buffer.write(data)
    try:
        if flags:
            count = os.pwritev(copy, [buffer], -1 if offset is None else offset, flags)
        elif offset is None:
            count = os.write(copy, buffer)
        else:
            count = os.pwrite(copy, buffer, offset)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    durable = bool(mode & os.O_DSYNC or flags & _RWF_SYNCED)  # O_SYNC contains O_DSYNC
    effect = Write(node, start, memoryview(data)[:count], Origin.CALL, durable)
    recorder.mapped.refresh(node)
    recorder.record(caller, call, path, effect, modified(node, os.fstat(copy)))
    return Value(count)


def sendfile(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    target, source, source_offset, count = arguments[:4]
    return _copy(recorder, caller, "sendfile", (source, source_offset), (target, 0), count)


def copy_file_range(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    source, source_offset, target, target_offset, count = arguments[:5]
    return _copy(
        recorder,
        caller,
        "copy_file_range",
        (source, source_offset),
        (target, target_offset),
        count,
    )


def splice(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Into a recorded file: refused as a file system without splice would, so that callers write.

    What is in a pipe cannot be read without taking it.
    """
    recorder.tracked_file(caller, arguments[2])
    return Failure(errno.EINVAL)


def _copy(
    recorder: Recorder,
    caller: Caller,
    call: str,
    source: tuple[int, int],
    target: tuple[int, int],
    count: int,
) -> Reply:
    """Each end: (descriptor, address of its offset or 0 for the descriptor's own)."""
    node = recorder.tracked_file(caller, target[0])
    if not is_regular(caller.descriptor_status(source[0])):
        return Failure(errno.EINVAL)
    output = caller.copy(target[0])
    try:
        input_ = caller.copy(source[0])
        try:
            mode = fcntl.fcntl(output, fcntl.F_GETFL)
            if mode & os.O_ACCMODE == os.O_RDONLY:
                raise PassOn
            position = _offset(caller, input_, source[1])
            data = bytearray(os.pread(input_, min(count, _COPY_MOST), position))
            if not data:
                return Value(0)
            offset = _offset(caller, output, target[1]) if target[1] else None
            recorder.catch_up(caller)
            reply = _put_data(recorder, caller, call, node, output, data, offset, 0, mode)
            if isinstance(reply, Value):
                _advance(caller, input_, source[1], position + reply.value)
                if offset is not None:
                    _advance(caller, output, target[1], offset + reply.value)
            return reply
        finally:
            os.close(input_)
    finally:
        os.close(output)


def _offset(caller: Caller, descriptor: int, address: int) -> int:
    if not address:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    return int.from_bytes(caller.memory([(address, 8)]), "little", signed=True)


def _advance(caller: Caller, descriptor: int, address: int, position: int) -> None:
    if address:
        caller.put(address, position.to_bytes(8, "little", signed=True))
    else:
        os.lseek(descriptor, position, os.SEEK_SET)


def ftruncate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, size = arguments[:2]
    node = recorder.tracked_file(caller, number)
    copy = caller.copy(number)
    try:
        if fcntl.fcntl(copy, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY or size >> 63:
            raise PassOn
        recorder.catch_up(caller)
        return _resize(recorder, caller, "ftruncate", node, copy, size)
    finally:
        os.close(copy)


def truncate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    place = caller.place(AT_FDCWD, caller.string(arguments[0]), follow=True)
    try:
        status = place.lookup()
        node = recorder.tree.file(status) if status and is_regular(status) else None
        if node is None or arguments[1] >> 63:
            recorder.policy.overwrite(place.real_path(), status, "truncate")
            raise PassOn
        recorder.catch_up(caller)
        try:
            with caller.rights():
                file = os.open(place.name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=place.directory)
        except OSError as error:
            return Failure(number_of(error))
        try:
            return _resize(recorder, caller, "truncate", node, file, arguments[1])
        finally:
            os.close(file)
    finally:
        place.close()


def _resize(
    recorder: Recorder, caller: Caller, call: str, node: NodeId, descriptor: int, size: int
) -> Reply:
    path = recorder.tree.path(node)
    try:
        os.ftruncate(descriptor, size)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    recorder.mapped.refresh(node)
    effects: tuple[Effect, ...] = (
        Truncate(node, size),
        modified(node, os.fstat(descriptor)),
    )
    recorder.record(caller, call, path, *effects)
    return Value()


def fallocate(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    number, mode, offset, length = arguments[:4]
    mode &= 0xFFFFFFFF
    node = recorder.tracked_file(caller, number)
    if mode & (_COLLAPSE | _INSERT):
        return Failure(errno.EOPNOTSUPP)  # as on tmpfs: callers must have another way
    copy = caller.copy(number)
    try:
        recorder.catch_up(caller)
        path = recorder.tree.path(node)
        try:
            kernel.fallocate(copy, mode, signed64(offset), signed64(length))
        except OSError as error:
            recorder.record(caller, "fallocate", path, error=number_of(error))
            return Failure(number_of(error))
        recorder.mapped.refresh(node)
        effect = Allocate(
            node,
            offset,
            length,
            zero=bool(mode & (_PUNCH_HOLE | _ZERO_RANGE)),
            keep_size=bool(mode & _KEEP_SIZE),
        )
        recorder.record(caller, "fallocate", path, effect, modified(node, os.fstat(copy)))
        return Value()
    finally:
        os.close(copy)


def signed64(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number

