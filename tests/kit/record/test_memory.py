"""What is read of another process: all that is there, up to the first page that is not."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Iterator

import pytest

from pytest_checkpoint.record.memory import (
    PAGE,
    read_memory,
    read_string,
    read_strings,
    write_memory,
)

_libc = ctypes.CDLL(None, use_errno=True)
_US = os.getpid()
_PAGES = 3


@pytest.fixture
def room() -> Iterator[int]:
    """The address of three pages that can be read, before one that cannot."""
    memory = mmap.mmap(-1, (_PAGES + 1) * PAGE)
    pinned = ctypes.c_char.from_buffer(memory)
    address = ctypes.addressof(pinned)
    protect = (ctypes.c_void_p(address + _PAGES * PAGE), ctypes.c_size_t(PAGE))
    assert _libc.mprotect(*protect, 0) == 0
    yield address
    assert _libc.mprotect(*protect, 3) == 0
    del pinned
    memory.close()


def _put(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


def test_strings(room: int) -> None:
    end = room + _PAGES * PAGE
    _put(room, b"x" * 3000 + b"\0")
    assert read_string(_US, room) == b"x" * 3000
    _put(room, b"\0")
    assert read_string(_US, room) == b""
    _put(room + PAGE - 3, b"across pages\0")
    assert read_string(_US, room + PAGE - 3) == b"across pages"
    _put(end - 4, b"end\0")
    assert read_string(_US, end - 4) == b"end"
    _put(room, b"y" * (PAGE - 1) + b"\0")
    assert read_string(_US, room) == b"y" * (PAGE - 1)


def test_two_strings(room: int) -> None:
    end = room + _PAGES * PAGE
    _put(room, b"first\0")
    _put(room + 100, b"second\0")
    assert read_strings(_US, room, room + 100) == (b"first", b"second")
    assert read_strings(_US, room + 100, room) == (b"second", b"first")
    assert read_strings(_US, room, room) == (b"first", b"first")
    _put(room + PAGE - 3, b"across pages\0")
    assert read_strings(_US, room + PAGE - 3, room) == (b"across pages", b"first")
    assert read_strings(_US, room, room + PAGE - 3) == (b"first", b"across pages")
    _put(end - 4, b"end\0")
    assert read_strings(_US, end - 4, room) == (b"end", b"first")
    _put(room, b"z" * PAGE)
    for pair in ((room, room + PAGE), (room + PAGE, room)):
        with pytest.raises(OSError) as raised:
            read_strings(_US, *pair)
        assert raised.value.errno == errno.ENAMETOOLONG
    for pair in ((end, room + PAGE), (room + PAGE, end)):
        with pytest.raises(OSError) as raised:
            read_strings(_US, *pair)
        assert raised.value.errno == errno.EFAULT


@pytest.mark.parametrize(
    ("length", "error"), [(PAGE, errno.ENAMETOOLONG), (3 * PAGE, errno.ENAMETOOLONG)]
)
def test_a_string_that_is_too_long(room: int, length: int, error: int) -> None:
    _put(room, b"z" * length)
    with pytest.raises(OSError) as raised:
        read_string(_US, room)
    assert raised.value.errno == error


def test_a_string_that_ends_in_no_page(room: int) -> None:
    """What an earlier string has left in our buffer is no end of this one."""
    _put(room, b"earlier\0")
    assert read_string(_US, room) == b"earlier"
    _put(room + _PAGES * PAGE - 3, b"abc")
    with pytest.raises(OSError) as raised:
        read_string(_US, room + _PAGES * PAGE - 3)
    assert raised.value.errno == errno.EFAULT


@pytest.mark.parametrize("length", [1, PAGE, 2 * PAGE + 7, 1 << 16, (1 << 16) + 1, 1 << 20])
def test_memory(length: int) -> None:
    source = os.urandom(length)
    kept = ctypes.create_string_buffer(source, length)
    address = ctypes.addressof(kept)
    assert read_memory(_US, [(address, length)]) == source
    half = length // 2
    ranges = [(address + half, length - half), (address, 0), (address, half)]
    assert read_memory(_US, ranges) == source[half:] + source[:half]
    write_memory(_US, address, source[::-1])
    assert kept.raw == source[::-1]


def test_memory_up_to_what_is_missing(room: int) -> None:
    _put(room, bytes(range(256)) * (_PAGES * PAGE // 256))
    data = read_memory(_US, [(room + 5, 4 * PAGE)])
    assert data == (bytes(range(256)) * (_PAGES * PAGE // 256))[5:]
    assert read_memory(_US, [(room + _PAGES * PAGE, 10)]) == b""
    assert read_memory(_US, [(room, 0)]) == b""
    with pytest.raises(OSError) as raised:
        write_memory(_US, room + _PAGES * PAGE, b"x")
    assert raised.value.errno == errno.EFAULT


def test_what_is_returned_is_ours(room: int) -> None:
    """And not the buffer, which the next call fills again."""
    _put(room, b"first\0other\0")
    first = read_memory(_US, [(room, 5)])
    read_memory(_US, [(room + 6, 5)])
    assert first == b"first"
