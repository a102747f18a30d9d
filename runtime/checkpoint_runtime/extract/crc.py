"""CRC-64/NVME, the checksum that S3 keeps of whole objects: of memory, combined, and as text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import cache
from typing import Final

from checkpoint_runtime.extract.libraries import required

_POLYNOMIAL: Final = 0x9A6C9329AC4BC9B5
"""With its bits in reverse, as the algorithm shifts to the right."""
_AT_ONCE_BYTES: Final = 1 << 28


def crc64nvme(data: bytes | memoryview, previous: int = 0) -> int:
    """Of some bytes; of more of them, begun with the checksum of those before.

    :raises ExtractInputError: awscrt is not installed.
    """
    function = _function()
    if len(data) <= _AT_ONCE_BYTES:
        return function(data, previous)
    view = memoryview(data)
    for begin in range(0, len(view), _AT_ONCE_BYTES):
        previous = function(view[begin : begin + _AT_ONCE_BYTES], previous)
    return previous


def combined(first: int, second: int, second_bytes: int) -> int:
    """The checksum of two pieces of data, one behind the other, from the checksum of each.

    :param second_bytes: size of the second piece.
    """
    # A zero byte multiplies by x**8; as many as the second has, by squaring. What the two
    # inversions of the algorithm add is the same in both, and goes out.
    power = _times_x(_times_x(_times_x(_times_x(1 << 63))))
    power = _product(power, power)
    while second_bytes:
        if second_bytes & 1:
            first = _product(first, power)
        power = _product(power, power)
        second_bytes >>= 1
    return first ^ second


def as_base64(crc: int) -> str:
    """As it stands in a request to S3."""
    return base64.b64encode(crc.to_bytes(8, "big")).decode()


def from_base64(text: str) -> int | None:
    """None if it is none of a whole object: that of parts has a dash and their number."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return int.from_bytes(raw, "big") if len(raw) == 8 else None


def as_hex(crc: int) -> str:
    """Sixteen digits."""
    return f"{crc:016x}"


def _product(one: int, other: int) -> int:
    """Modulo the polynomial. The highest bit is the one of x**0."""
    result = 0
    for bit in range(63, -1, -1):
        if one >> bit & 1:
            result ^= other
        other = _times_x(other)
    return result


def _times_x(value: int) -> int:
    return value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)


@cache
def _function() -> Callable[[bytes | memoryview, int], int]:
    checksums = required("awscrt.checksums", "A checksum of an object")
    function: Callable[[bytes | memoryview, int], int] = checksums.crc64nvme
    return function
