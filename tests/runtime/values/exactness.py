"""Whether two values are the same to the last bit: what == does not tell."""

from __future__ import annotations

import dataclasses
import enum
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from checkpoint_runtime import codec


def there_and_back(value: object) -> Any:
    """Encode and decode, through what would stand on the disk."""
    encoded = codec.encode(value)
    assert "\n" not in encoded.text
    encoded.text.encode()
    files = {attachment.name: attachment.content() for attachment in encoded.attachments}
    for attachment in encoded.attachments:
        assert attachment.size_bytes == len(files[attachment.name])
    return codec.decode(encoded.text, files.__getitem__)


def is_same(one: Any, other: Any) -> bool:
    """Same types throughout, same bits of floats, same order of dicts, same zones and folds."""
    kind = type(one)
    if kind is not type(other):
        return False
    compare = _COMPARE.get(kind)
    if compare is not None:
        return compare(one, other)
    if isinstance(one, enum.Enum):
        return one is other
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(is_same(getattr(one, n, None), getattr(other, n, None)) for n in names)
    if isinstance(one, tuple):
        return _are_same(tuple(one), tuple(other))
    if hasattr(one, "dtype"):
        same_form = one.dtype == other.dtype and one.shape == other.shape
        return bool(same_form) and _bits(one) == _bits(other)
    return bool(repr(one) == repr(other) and one == other)


def _are_same_dicts(one: Any, other: Any) -> bool:
    return (
        _are_same(list(one), list(other))
        and _are_same(list(one.values()), list(other.values()))
        and (type(one) is dict or is_same(vars(one), vars(other)))
    )


def _are_same_sets(one: Any, other: Any) -> bool:
    # A set has no order: take the one that its texts have.
    return _are_same(*(sorted(x, key=lambda y: codec.encode(y).text) for x in (one, other)))


def _are_same_clocks(one: Any, other: Any) -> bool:
    return repr(one) == repr(other) and one.fold == other.fold


def _are_same(ones: Any, others: Any) -> bool:
    return len(ones) == len(others) and all(map(is_same, ones, others))


def _bits(array: Any) -> bytes:
    if hasattr(array, "tobytes"):
        return bytes(array.tobytes())
    torch = sys.modules["torch"]
    return bytes(array.detach().contiguous().reshape(-1).view(torch.uint8).tolist())


_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    # Their repr() is longer than Python likes, or they cannot be compared: a signalling NaN.
    int: lambda one, other: bool(one == other),
    Decimal: lambda one, other: repr(one) == repr(other),
    float: lambda one, other: struct.pack("d", one) == struct.pack("d", other),
    complex: lambda one, other: is_same((one.real, one.imag), (other.real, other.imag)),
    list: _are_same,
    tuple: _are_same,
    dict: _are_same_dicts,
    OrderedDict: _are_same_dicts,
    set: _are_same_sets,
    frozenset: _are_same_sets,
    datetime: _are_same_clocks,
    time: _are_same_clocks,
}
