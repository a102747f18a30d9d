"""What an object is named after: its samples, and how their states were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

_KEY_BYTES = 20


@dataclass(frozen=True, slots=True)
class Identity:
    """What all batches of one extraction have in common."""

    model: str
    """Its digest."""
    layers: tuple[int, ...]
    dtype: str
    """``bf16``, ``fp16``, ``fp32`` or ``fp8``."""

    def key(self, ids: Sequence[str]) -> str:
        """Of the batch with these samples in this order: 40 hex digits."""
        text = json.dumps([self.model, self.layers, self.dtype, list(ids)], separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).hexdigest()
