"""Which object store a slot is to have. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedStore:
    """A bucket, in the kit's own store or in the user's."""

    bucket: str
    prefix: str = ""
    """What of it is the job's; of the kit's own store all is."""
    endpoint: str = ""
    """The user's, ``http://host:port``; empty: the kit's own."""
