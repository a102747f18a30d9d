"""Another process's memory: process_vm_readv and process_vm_writev, which Python does not offer.

Every function raises :class:`OSError` with the kernel's errno. The structures that the kernel is
given are made once: so this is for one thread of ours only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

PAGE: Final = 4096
_LAST: Final = (1 << 64) - 1
"""The highest address."""
_SHORT: Final = 1 << 16
"""Reads up to here go through a buffer of our own: that costs less than lending out a new one."""


_libc = ctypes.CDLL(None, use_errno=True)
_read_process: Final = _libc.process_vm_readv
_write_process: Final = _libc.process_vm_writev
for _transfer in (_read_process, _write_process):
    _transfer.restype = ctypes.c_ssize_t

_BUFFER: Final = ctypes.create_string_buffer(_SHORT)
_VIEW: Final = memoryview(_BUFFER).cast("B")
_BUFFER_ADDRESS: Final = ctypes.addressof(_BUFFER)
_STRING: Final = (ctypes.c_char * PAGE).from_buffer(_BUFFER)
_SECOND_STRING: Final = (ctypes.c_char * PAGE).from_buffer(_BUFFER, PAGE)
_VECTORS: Final = ctypes.create_string_buffer(64)
_describe: Final = struct.Struct("=4Q").pack_into
"""Where it is copied to and from: address and length, twice."""
_HERE: Final = ctypes.c_void_p(ctypes.addressof(_VECTORS))
_THERE: Final = ctypes.c_void_p(ctypes.addressof(_VECTORS) + 16)
_describe_two: Final = struct.Struct("=8Q").pack_into
_THERE_TWO: Final = ctypes.c_void_p(ctypes.addressof(_VECTORS) + 32)
_ONE, _TWO, _NO_FLAGS = ctypes.c_ulong(1), ctypes.c_ulong(2), ctypes.c_ulong(0)
"""Arguments of their own types are passed on as they are, which is faster than converting them."""


def read_memory(process: int, ranges: list[tuple[int, int]]) -> bytearray:
    """Bytes of another process, ``ranges`` (address, length) one after another.

    Stops before the first page that is not mapped, like the kernel's own copying: shorter than
    asked for then, perhaps empty.
    """
    if len(ranges) == 1 and ranges[0][1] <= _SHORT:
        address, length = ranges[0]
        _describe(_VECTORS, 0, _BUFFER_ADDRESS, length, address, length)
        if _read_process(process, _HERE, _ONE, _THERE, _ONE, _NO_FLAGS) != length:
            length = _read_range(process, _BUFFER_ADDRESS, address, length)
        return bytearray(_VIEW[:length])
    result = bytearray(sum(length for _, length in ranges))
    if not result:
        return result
    first = ctypes.c_char.from_buffer(result)
    local = ctypes.addressof(first)
    done = 0
    for address, length in ranges:
        if length:
            count = _read_range(process, local + done, address, length)
            done += count
            if count != length:
                break
    del first  # it pins the buffer's size
    del result[done:]
    return result


def _read_range(process: int, local: int, address: int, length: int) -> int:
    """Copy one range; returns how much of it could be read."""
    done = 0
    step = length
    while done < length:
        wanted = min(step, length - done)
        _describe(_VECTORS, 0, local + done, wanted, (address + done) & _LAST, wanted)
        count = _read_process(process, _HERE, _ONE, _THERE, _ONE, _NO_FLAGS)
        if count > 0:
            done += count
            continue
        number = ctypes.get_errno() if count < 0 else errno.EFAULT
        if number != errno.EFAULT:
            raise OSError(number, os.strerror(number))
        # Some page is missing. The kernel tells nothing more: go on page by page up to it.
        to_page_end = PAGE - (address + done) % PAGE
        if step <= to_page_end:
            break
        step = to_page_end if (address + done) % PAGE else PAGE
    return done


def read_string(process: int, address: int, limit: int = PAGE) -> bytes:
    """A NUL-terminated string, read page by page so that an unmapped next page does no harm."""
    parts: list[bytes] = []
    length = 0
    while length < limit:
        start = (address + length) & _LAST
        wanted = PAGE - start % PAGE
        _describe(_VECTORS, 0, _BUFFER_ADDRESS, wanted, start, wanted)
        count = _read_process(process, _HERE, _ONE, _THERE, _ONE, _NO_FLAGS)
        if count <= 0:
            number = ctypes.get_errno() if count < 0 else errno.EFAULT
            raise OSError(number, os.strerror(number))
        piece = _STRING.value  # up to the first NUL, which may lie behind what was read
        if len(piece) < count:
            if length + len(piece) >= limit:
                break
            return b"".join([*parts, piece]) if parts else piece
        parts.append(piece[:count])
        length += count
    raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def read_strings(process: int, first: int, second: int) -> tuple[bytes, bytes]:
    """Two of them, at the cost of one if both end on the pages on which they begin."""
    lengths = PAGE - first % PAGE, PAGE - second % PAGE
    _describe_two(
        *(_VECTORS, 0, _BUFFER_ADDRESS, lengths[0], _BUFFER_ADDRESS + PAGE, lengths[1]),
        *(first, lengths[0], second, lengths[1]),
    )
    if _read_process(process, _HERE, _TWO, _THERE_TWO, _TWO, _NO_FLAGS) == sum(lengths):
        strings = _STRING.value, _SECOND_STRING.value
        if len(strings[0]) < lengths[0] and len(strings[1]) < lengths[1]:
            return strings
    return read_string(process, first), read_string(process, second)


def write_memory(process: int, address: int, data: bytes) -> None:
    """Put bytes into another process (results that a call returns through a pointer)."""
    buffer = ctypes.create_string_buffer(data, len(data))
    _describe(_VECTORS, 0, ctypes.addressof(buffer), len(data), address, len(data))
    count = _write_process(process, _HERE, _ONE, _THERE, _ONE, _NO_FLAGS)
    if count != len(data):
        number = ctypes.get_errno() if count < 0 else errno.EFAULT
        raise OSError(number, os.strerror(number))
