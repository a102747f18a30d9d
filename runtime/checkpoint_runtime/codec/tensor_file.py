"""Safetensors files: an 8-byte length, a JSON header, and the tensors' bytes one after the other.

They are read through the safetensors library, which checks what it reads. The library's own
``serialize`` holds two more copies of every tensor (three before 0.8); so the header is written
here, and the bytes are views of the arrays. The tests hold these files against the library.
"""

from __future__ import annotations

import importlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_runtime.codec.problems import UnreadableValueError

INSTALL = "pip install 'checkpoint-contracts[arrays]'"

_ELEMENT_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E5M2": 1,
    "F8_E4M3": 1,
    "I16": 2,
    "U16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "C64": 8,
    "F64": 8,
    "I64": 8,
    "U64": 8,
}


class RawTensor(NamedTuple):
    """A tensor to write."""

    dtype: str
    """As safetensors calls it: ``BF16``."""
    shape: tuple[int, ...]
    content: bytes | memoryview
    """Little-endian, the last dimension first to vary, without gaps."""


class ReadTensor(NamedTuple):
    """A tensor that was read."""

    dtype: str
    shape: tuple[int, ...]
    content: bytearray
    """Nobody else's: an array may be made over it."""


def missing_library() -> str | None:
    """Why files cannot be read back here, or None."""
    try:
        importlib.import_module("safetensors")
    except ImportError:
        return f"that needs the safetensors library: {INSTALL}"
    return None


def tensor_file(tensors: Mapping[str, RawTensor]) -> list[bytes | memoryview]:
    """The file, in pieces. It depends on the tensors and their names, not on their order."""
    # Large elements first keeps every tensor aligned to the size of its elements.
    ordered = sorted(tensors.items(), key=lambda item: (-_ELEMENT_BYTES[item[1].dtype], item[0]))
    header: dict[str, object] = {}
    begin = 0
    for name, tensor in ordered:
        end = begin + math.prod(tensor.shape) * _ELEMENT_BYTES[tensor.dtype]
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text, *(tensor.content for _, tensor in ordered)]


def read_tensor_file(content: bytes | memoryview) -> dict[str, ReadTensor]:
    """All tensors of a file by name, each with memory of its own.

    :raises UnreadableValueError: damaged, or the library is not installed.
    """
    missing = missing_library()
    if missing is not None:
        raise UnreadableValueError(f"a side file holds arrays, and {missing}")
    safetensors: Any = importlib.import_module("safetensors")
    try:
        found = safetensors.deserialize(bytes(content))
    except safetensors.SafetensorError as error:
        raise UnreadableValueError(f"a side file of arrays is damaged: {error}") from error
    return {
        name: ReadTensor(tensor["dtype"], tuple(tensor["shape"]), tensor["data"])
        for name, tensor in found
    }
