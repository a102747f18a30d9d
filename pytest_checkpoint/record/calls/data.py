"""Calls that put bytes from memory into files: write and its kin.

A write that reaches the caller's RLIMIT_FSIZE is cut there, and fails with EFBIG and SIGXFSZ beyond
it, as in the kernel: what is done here is under our own limit, which is as high as it may be.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import signal
import struct
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import NO_LIMIT, Caller, signed
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Event, Origin, Sent, Write
from pytest_checkpoint.record.policy import Refused
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import Failure, PassOn, Reply, Value
from pytest_checkpoint.record.tracked import EFFECTS, EVENTS, Identity, identity_of
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_MOST: Final = 0x7FFFF000
"""The kernel writes no more than this in one call."""
_BLOCK: Final = 512
_VECTORS_MOST: Final = 1024
_RWF_SYNCED: Final = 2 | 4  # RWF_DSYNC | RWF_SYNC
_RWF_APPEND, _RWF_NOAPPEND = 16, 32


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
    return _put(recorder, caller, "pwritev2", number, (address, count), place, signed(flags))


def _vectors(caller: Caller, address: int, count: int) -> list[tuple[int, int]]:
    if count > _VECTORS_MOST:
        raise PassOn
    packed = caller.memory([(address, 16 * count)])
    left = _MOST
    ranges = []
    for base, wanted in struct.iter_unpack("=QQ", packed):
        if wanted >> 63:
            raise PassOn
        length = min(wanted, left)
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
    copy = caller.copy(number)
    try:
        status = os.fstat(copy)
        node = recorder.file(status)
        if node is None and identity_of(status) not in recorder.tree.beside:
            recorder.policy.written(status, b"/proc/self/fd/%d" % copy)
            raise PassOn
        mode = fcntl.fcntl(copy, fcntl.F_GETFL)
        if not writable(mode) or (offset is not None and offset >> 63):
            raise PassOn
        ranges = source if isinstance(source, list) else _vectors(caller, *source)
        data = caller.readable_memory(ranges)
        if not data:
            if not any(length for _, length in ranges):
                raise PassOn
            return Failure(errno.EFAULT)
        if node is None:
            recorder.catch_up(caller)
            return _put_beside(recorder, caller, call, copy, identity_of(status), data, mode)
        return put_data(recorder, caller, call, node, copy, data, offset, flags, mode)
    finally:
        os.close(copy)


def _put_beside(
    recorder: Recorder,
    caller: Caller,
    call: str,
    copy: int,
    identity: Identity,
    data: bytearray,
    mode: int,
) -> Reply:
    if not mode & os.O_APPEND and os.lseek(copy, 0, os.SEEK_CUR) != os.fstat(copy).st_size:
        raise Refused(
            f"the job wrote over lines of ${recorder.tree.variable(identity)}: it was refused; "
            "open that file for appending (mode 'a' in Python, >> in a shell)"
        )
    try:
        count = os.write(copy, data)
    except OSError as error:
        return Failure(number_of(error))
    if identity == recorder.tree.effects:
        recorder.record(caller, call, EFFECTS, Sent(bytes(data[:count])))
    else:
        recorder.record(caller, call, EVENTS, Event(bytes(data[:count])))
    return Value(count)


def put_data(
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
    """Write ``data`` as the call would and write it down."""
    path = recorder.tree.path(node)
    appends = (mode & os.O_APPEND and not flags & _RWF_NOAPPEND) or flags & _RWF_APPEND
    if appends:
        start = os.fstat(copy).st_size
    elif offset is None:
        start = os.lseek(copy, 0, os.SEEK_CUR)
    else:
        start = offset
    room = allowed(recorder, caller, start, start + len(data)) - start
    if room <= 0:
        recorder.catch_up(caller)
        return too_big(recorder, caller, call, path)
    del data[room:]
    size = len(data)
    granted = recorder.intend(
        caller, call, path, deed=Deed.WRITE, node=node, start=start, length=size
    )
    del data[granted:]
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
        if mode & os.O_DIRECT:
            _note_begun(recorder, caller, call, node, copy, start, data)
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    durable = bool(mode & os.O_DSYNC or flags & _RWF_SYNCED)  # O_SYNC contains O_DSYNC
    written = memoryview(data)[:count]
    if offset is None and not appends and os.lseek(copy, 0, os.SEEK_CUR) != start + count:
        start, written = _anywhere(copy, start, written)
    effect = Write(node, start, written, Origin.CALL, durable)
    if recorder.mapped.files:
        recorder.mapped.written(node, start, effect.data)
    recorder.record(caller, call, path, effect, *recorder.modified(node, copy))
    return Value(count)


def _note_begun(
    recorder: Recorder,
    caller: Caller,
    call: str,
    node: NodeId,
    copy: int,
    start: int,
    data: bytearray,
) -> None:
    """A direct write that fails at its end, which fills no block, may have written what is before.

    What is told of it is there in any case, written by this call or before it.
    """
    found = _read_back(copy, len(data), start)
    pairs = zip(found, data, strict=False)
    size = next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), len(found))
    if size >= _BLOCK:
        effect = Write(node, start, found[:size], Origin.CALL)
        if recorder.mapped.files:
            recorder.mapped.written(node, start, effect.data)
        also = recorder.modified(node, copy)
        recorder.record(caller, call, recorder.tree.path(node), effect, *also)


def _anywhere(copy: int, start: int, data: memoryview) -> tuple[int, memoryview]:
    """Where ``data`` was written, with what surrounds it there: offset and bytes.

    The offset was ``start`` and is another one now: somebody who shares it has read or sought
    meanwhile, which we do not see. What surrounds it is told as it is.
    """
    end = os.lseek(copy, 0, os.SEEK_CUR)
    low = max(0, min(start, end - len(data)))
    found = _read_back(copy, max(end, start + len(data)) - low, low)
    if bytes(data) not in found:
        low, found = 0, _read_back(copy, os.fstat(copy).st_size, 0)
    return (low, memoryview(found)) if found else (start, data)


def _read_back(copy: int, length: int, start: int) -> bytes:
    """What is in a file now; nothing, if we may only write it."""
    try:
        with open(f"/proc/self/fd/{copy}", "rb", buffering=0) as file:
            return os.pread(file.fileno(), length, start)
    except OSError:
        return b""


def writable(mode: int) -> bool:
    """Whether the status flags of an open file allow writing."""
    return not mode & os.O_PATH and mode & os.O_ACCMODE != os.O_RDONLY


def allowed(recorder: Recorder, caller: Caller, size: int, wanted: int) -> int:
    """How far a file of ``size`` bytes may grow towards ``wanted``."""
    if wanted <= size or not recorder.asks_for_size_limit:
        return wanted
    limit = caller.file_size_limit
    if limit is None:
        return wanted
    if limit == NO_LIMIT:
        recorder.asks_for_size_limit = recorder.size_limit_varies
    return min(wanted, limit)


def too_big(recorder: Recorder, caller: Caller, call: str, path: bytes) -> Reply:
    """RLIMIT_FSIZE is reached."""
    try:
        kernel.signal_thread(caller.process, caller.thread, signal.SIGXFSZ)
    except OSError as error:
        if error.errno not in (errno.ESRCH, errno.EPERM):
            raise
    recorder.record(caller, call, path, error=errno.EFBIG)
    return Failure(errno.EFBIG)
