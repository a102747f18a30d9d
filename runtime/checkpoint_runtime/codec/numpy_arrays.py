"""Arrays and scalars of numpy. It is imported only when a text holds one."""

from __future__ import annotations

import math
from typing import Any

from checkpoint_runtime.codec.arrays import DTYPES, read_elements, write_elements
from checkpoint_runtime.codec.installed import imported, required
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.texts import from_base64, to_base64
from checkpoint_runtime.codec.writer import Writer

# The others are torch's, or another library's: numpy has no scalars of these.
_NAMES = frozenset(name for name in DTYPES if not name.startswith(("bfloat", "float8")))


def write_array(writer: Writer, value: Any) -> object:
    """The content: an array comes back contiguous, writable, in C order."""
    numpy = imported("numpy")
    label = _label(numpy, value.dtype)
    if label is None:
        # Said with the type: there is more than one int64.
        kind = value.dtype.type.__name__
        writer.refuse(f"is an array of dtype {value.dtype} ({kind}), which is not kept")
    if value.dtype.metadata is not None:
        writer.refuse("is an array whose dtype has metadata, which is not kept")
    content: bytes | memoryview = b""
    if value.size:
        ordered = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        content = ordered.reshape(-1).view(numpy.uint8).data
    node = write_elements(writer, "$array", label, value.shape, content)
    if value.dtype.str[0] == ">":
        node["byteorder"] = "big"
    return node


def read_array(reader: Reader, body: Body) -> object:
    numpy = required("numpy")
    label, shape, content = read_elements(reader, body, "$array")
    dtype = _dtype(numpy, label)
    found = numpy.frombuffer(content, dtype=dtype.newbyteorder("<")) if content else ()
    array = numpy.asarray(found, dtype=dtype).reshape(shape)
    return array.astype(dtype.newbyteorder(">")) if body.get("byteorder") == "big" else array


def write_scalar(writer: Writer, value: Any) -> object:
    numpy = imported("numpy")
    label = _label(numpy, value.dtype)
    if label is None or type(value) is not value.dtype.type:
        writer.refuse(f"is a numpy scalar of type {type(value).__name__}, which is not kept")
    plain = value.item()
    if isinstance(plain, complex) or not math.isfinite(plain):
        content = numpy.array(value, dtype=value.dtype.newbyteorder("<")).tobytes()
        return {"$scalar": label, "base64": to_base64(content)}
    return {"$scalar": label, "value": plain}


def read_scalar(reader: Reader, body: Body) -> object:
    numpy = required("numpy")
    label = expect(str, body["$scalar"], "$scalar")
    dtype = _dtype(numpy, label)
    if "base64" in body:
        content = from_base64(body["base64"], "$scalar")
        if len(content) != dtype.itemsize:
            raise UnreadableValueError(f"$scalar has other bytes than a {label}")
        return numpy.frombuffer(content, dtype=dtype.newbyteorder("<")).astype(dtype)[0]
    plain = expect({"b": bool, "f": float}.get(dtype.kind, int), body["value"], "$scalar")
    if not _holds(numpy, dtype, plain):
        raise UnreadableValueError(f"$scalar {plain!r:.50} is no {label}")
    return dtype.type(plain)


def _holds(numpy: Any, dtype: Any, plain: Any) -> bool:
    if dtype.kind in "iu":
        bounds = numpy.iinfo(dtype)
        return bool(bounds.min <= plain <= bounds.max)
    with numpy.errstate(over="ignore"):
        return bool(dtype.type(plain).item() == plain)


def _label(numpy: Any, dtype: Any) -> str | None:
    # The type too: longlong is called int64 and is another.
    label: str = dtype.name
    return label if label in _NAMES and numpy.dtype(label).type is dtype.type else None


def _dtype(numpy: Any, label: str) -> Any:
    if label in _NAMES:
        return numpy.dtype(label)
    raise UnreadableValueError(f"numpy has no dtype {label!r:.100}")
