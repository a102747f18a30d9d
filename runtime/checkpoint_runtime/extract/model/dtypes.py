"""The types of elements that hidden states are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoint_runtime.extract.errors import ExtractInputError


@dataclass(frozen=True, slots=True)
class StoredType:
    name: str
    """On the command line, and in the metadata of a file."""
    torch_name: str
    label: str
    """As safetensors calls it."""
    size: int
    """Of an element, in bytes."""

    def of(self, torch: Any) -> Any:
        return getattr(torch, self.torch_name)


_ALL = (
    StoredType("bf16", "bfloat16", "BF16", 2),
    StoredType("fp16", "float16", "F16", 2),
    StoredType("fp32", "float32", "F32", 4),
    # Without infinities: torch stores what is too large as 448, or on some devices as a NaN.
    StoredType("fp8", "float8_e4m3fn", "F8_E4M3", 1),
)
STORED_TYPES = {stored.name: stored for stored in _ALL}


def stored_type(name: str) -> StoredType:
    """
    :raises ExtractInputError: there is none of that name.
    """
    found = STORED_TYPES.get(name)
    if found is None:
        raise ExtractInputError(f"--dtype {name}: one of {', '.join(STORED_TYPES)} is expected")
    return found
