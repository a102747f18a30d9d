"""The tables: which function writes a type, which function reads a tag. A line each."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Callable
from pathlib import PosixPath, PurePosixPath
from typing import Any

from checkpoint_runtime.codec import (
    containers,
    numbers,
    numpy_arrays,
    records,
    texts,
    times,
    torch_tensors,
)
from checkpoint_runtime.codec.installed import imported
from checkpoint_runtime.codec.reader import Body, Reader
from checkpoint_runtime.codec.writer import Writer

Write = Callable[[Writer, Any], object]
Read = Callable[[Reader, Body], object]


def _as_it_is(writer: Writer, value: object) -> object:
    return value


# Exact types: a subclass would come back as its base.
_WRITE: dict[type, Write] = {
    type(None): _as_it_is,
    bool: _as_it_is,
    int: numbers.write_int,
    float: numbers.write_float,
    complex: numbers.write_complex,
    str: texts.write_str,
    bytes: texts.write_bytes,
    bytearray: texts.write_bytearray,
    PosixPath: texts.write_path,
    PurePosixPath: texts.write_path,
    list: containers.write_list,
    tuple: containers.write_tuple,
    dict: containers.write_dict,
    OrderedDict: containers.write_ordered_dict,
    set: containers.write_set,
    frozenset: containers.write_frozenset,
    dt.datetime: times.write_datetime,
    dt.date: times.write_date,
    dt.time: times.write_time,
    dt.timedelta: times.write_timedelta,
    dt.timezone: times.write_zone,
}

# Types of modules that are not imported for this: module, name.
_WRITE_LATE: dict[tuple[str, str], Write] = {
    ("decimal", "Decimal"): numbers.write_decimal,
    ("fractions", "Fraction"): numbers.write_fraction,
    ("uuid", "UUID"): texts.write_uuid,
    ("zoneinfo", "ZoneInfo"): times.write_zone,
    ("numpy", "ndarray"): numpy_arrays.write_array,
    ("torch", "Tensor"): torch_tensors.write_tensor,
    ("torch.nn", "Parameter"): torch_tensors.write_tensor,
}

READ: dict[str, Read] = {
    "$int": numbers.read_int,
    "$float": numbers.read_float,
    "$complex": numbers.read_complex,
    "$decimal": numbers.read_decimal,
    "$fraction": numbers.read_fraction,
    "$str": texts.read_str,
    "$bytes": texts.read_bytes,
    "$bytearray": texts.read_bytearray,
    "$file": texts.read_file,
    "$path": texts.read_path,
    "$purepath": texts.read_purepath,
    "$uuid": texts.read_uuid,
    "$tuple": containers.read_tuple,
    "$dict": containers.read_dict,
    "$ordereddict": containers.read_ordered_dict,
    "$set": containers.read_set,
    "$frozenset": containers.read_frozenset,
    "$datetime": times.read_datetime,
    "$date": times.read_date,
    "$time": times.read_time,
    "$timedelta": times.read_timedelta,
    "$zone": times.read_zone,
    "$dataclass": records.read_dataclass,
    "$namedtuple": records.read_named_tuple,
    "$enum": records.read_enum,
    "$array": numpy_arrays.read_array,
    "$scalar": numpy_arrays.read_scalar,
    "$tensor": torch_tensors.read_tensor,
    "$parameter": torch_tensors.read_parameter,
}


def write(writer: Writer, value: object) -> object:
    """The JSON of a value of any kind.

    :raises ValueProblem: of none.
    """
    function = _WRITE.get(type(value)) or _late(type(value))
    if function is None:
        base = next((kind for kind in type(value).__mro__[1:] if kind in _WRITE), None)
        derived = f", and would come back as its base {base.__name__}" if base else ""
        writer.refuse(f"is of type {type(value).__name__}{derived}")
    return function(writer, value)


def _late(kind: type) -> Write | None:
    if records.is_enum(kind):
        return records.write_enum
    for (module, name), function in _WRITE_LATE.items():
        if getattr(imported(module), name, None) is kind:
            return function
    if issubclass(kind, getattr(imported("numpy"), "generic", ())):
        return numpy_arrays.write_scalar
    if records.is_dataclass(kind):
        return records.write_dataclass
    return records.write_named_tuple if records.is_named_tuple(kind) else None
