"""A sample's tokens in few characters: its id does not tell that its text has become another."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from checkpoint_runtime.extract.parts import Batch, Outline

DIGEST_BYTES = 8


def digest_of(tokens: Sequence[int]) -> bytes:
    """The same on every machine. Only two forms of one sample are ever compared."""
    packed = struct.pack(f"<{len(tokens)}q", *tokens)
    return hashlib.blake2b(packed, digest_size=DIGEST_BYTES).digest()


def digests_of(batch: Batch) -> tuple[str, ...]:
    """Of each of its samples: 16 hex digits."""
    return tuple(digest_of(tokens).hex() for tokens in batch.tokens)


def outline_of(batch: Batch) -> Outline:
    """Its tokens are left behind."""
    return Outline(batch.number, batch.key, batch.ids, digests_of(batch), batch.token_count)
