"""The log of what was asked of the store: of every execution, recorded or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """One request, in the order in which they were taken."""

    step: int
    """Of the recording; 0: nothing was watched (a check, a setup)."""
    method: str
    operation: str
    """``PutObject`` …"""
    path: str
    """``PUT s3://bucket/key``, as it is shown."""
    key: str
    size: int
    """Bytes of the body that the job sent, decoded."""
    sha256: str
    """Of that body; empty: it has none, or not all of it arrived."""
    status: int
    """0: it was not answered."""
    at_s: float
    """Seconds since the start of the execution, when it was whole (or was cut off)."""
    fault: str = ""
    """The kind of fault that hit it."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)
