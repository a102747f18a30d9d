"""What arrays of numpy and tensors of torch have in common: dtypes, shapes, where the bytes go."""

from __future__ import annotations

import math
from typing import NamedTuple

from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.tensor_file import RawTensor, missing_library
from checkpoint_runtime.codec.texts import from_base64, to_base64
from checkpoint_runtime.codec.writer import Writer

LARGEST_INLINE_BYTES = 1024
"""Larger arrays go to the safetensors file of their value."""


class Kept(NamedTuple):
    """How elements of a dtype stand in a safetensors file."""

    dtype: str
    element_bytes: int
    pair: bool = False
    """Each element is two of that dtype: a further dimension of 2."""


DTYPES = {
    "bool": Kept("BOOL", 1),
    "uint8": Kept("U8", 1),
    "int8": Kept("I8", 1),
    "uint16": Kept("U16", 2),
    "int16": Kept("I16", 2),
    "uint32": Kept("U32", 4),
    "int32": Kept("I32", 4),
    "uint64": Kept("U64", 8),
    "int64": Kept("I64", 8),
    "float16": Kept("F16", 2),
    "float32": Kept("F32", 4),
    "float64": Kept("F64", 8),
    "complex64": Kept("C64", 8),
    "complex128": Kept("F64", 16, pair=True),
    "bfloat16": Kept("BF16", 2),
    "float8_e4m3fn": Kept("F8_E4M3", 1),
    "float8_e5m2": Kept("F8_E5M2", 1),
    # Plain bytes in the file: these have no name there before safetensors 0.8, or none that its own
    # readers know.
    "float8_e8m0fnu": Kept("U8", 1),
    "float8_e4m3fnuz": Kept("U8", 1),
    "float8_e5m2fnuz": Kept("U8", 1),
}


def write_elements(
    writer: Writer,
    tag: str,
    dtype: str,
    shape: tuple[int, ...],
    content: bytes | memoryview,
) -> dict[str, object]:
    """The JSON of an array with these elements, little-endian, the last dimension first to vary."""
    node: dict[str, object] = {tag: dtype, "shape": list(shape)}
    size_bytes = memoryview(content).nbytes
    if size_bytes <= LARGEST_INLINE_BYTES:
        node["base64"] = to_base64(content)
        return node
    missing = missing_library()
    if missing is not None:
        writer.refuse(f"is an array of {size_bytes:,} bytes, which goes to a side file: {missing}")
    kept = DTYPES[dtype]
    in_file = (*shape, 2) if kept.pair else shape
    writer.put_in_tensor_file(node, RawTensor(kept.dtype, in_file, content))
    return node


class Elements(NamedTuple):
    """An array that was read, before a library makes one of it."""

    dtype: str
    shape: tuple[int, ...]
    content: bytearray


def read_elements(reader: Reader, body: Body, tag: str) -> Elements:
    """
    :raises UnreadableValueError: the parts do not fit each other.
    """
    dtype = expect(str, body[tag], tag)
    kept = DTYPES.get(dtype)
    if kept is None:
        raise UnreadableValueError(f"{tag} of an unknown dtype {dtype!r:.100}")
    shape = tuple(expect(int, size, "shape") for size in expect(list, body["shape"], "shape"))
    # Held against the bytes that are there: a text cannot ask for more memory than it has.
    if len(shape) > 32 or any(not 0 <= size < 2**48 for size in shape):
        raise UnreadableValueError(f"{tag} of an impossible shape")
    if "base64" in body:
        content = bytearray(from_base64(body["base64"], tag))
        fits = True
    else:
        found = reader.tensor(body["file"], body["name"])
        content = found.content
        fits = (found.dtype, found.shape) == (kept.dtype, (*shape, 2) if kept.pair else shape)
    if not fits or len(content) != math.prod(shape) * kept.element_bytes:
        raise UnreadableValueError(f"{tag} has another dtype or shape than its content")
    return Elements(dtype, shape, content)
