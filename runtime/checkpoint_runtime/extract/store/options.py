"""How a store is written to."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

MIB: Final = 1 << 20


class Verify(enum.Enum):
    """What proves that the store holds what was sent.

    A store that computes checksums itself proves it by the checksum that it tells, whatever is
    chosen here. One that only repeats what it was told proves nothing by that: its bytes are read.
    """

    ALWAYS = "always"
    SAMPLE = "sample"
    """Bytes are read of one object in so many; the others by their size."""
    PROBE = "probe"
    """By checksum if the store computes it, else by size: no bytes are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Sizes in bytes, times in seconds."""

    verify: Verify = Verify.ALWAYS
    sample_every: int = 16
    """Which objects these are follows from their keys: the same ones in every run."""
    endpoint_url: str | None = None
    """None: what boto3 finds (AWS_ENDPOINT_URL, its configuration, AWS itself)."""
    attempts: int = 3
    """Of one request, by botocore."""
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 60.0
    budget_s: float = 300.0
    """How long one object is tried again."""
    first_pause_s: float = 0.2
    longest_pause_s: float = 20.0
    multipart_threshold_bytes: int = 64 * MIB
    """Larger files go in parts."""
    part_bytes: int = 16 * MIB
    connections: int = 16
    """At least as many as there are threads that upload."""
