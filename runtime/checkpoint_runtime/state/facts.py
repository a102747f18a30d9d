"""What the records of a state log tell of stages, each as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class SideFile(NamedTuple):
    """A part of a value that is kept in a file of its own."""

    size_bytes: int
    sha256: str


class Kept(NamedTuple):
    """A value, and where it stands."""

    value: Any
    """As JSON that has been read; :mod:`checkpoint_runtime.codec` makes the value of it."""
    digest: str
    files: Mapping[str, SideFile]
    line: int
    """Of the log, from 1."""


class Fingerprint(NamedTuple):
    """What a stage was when it was done."""

    version: str
    inputs: Mapping[str, str]
    """Name of each input → digest of its value."""
    parameters: str
    """Digest."""
    items: str | None
    """Of a mapped stage that is done: digest of what it went through."""


class Done(NamedTuple):
    """A stage that is done."""

    kept: Kept
    """Of a mapped stage the value is null: its items hold it."""
    fingerprint: Fingerprint
    items: int | None
    """How many items a mapped stage has; None: it is not a mapped one."""
    at: str
    """ISO 8601, UTC."""
    took_s: float


class Item(NamedTuple):
    """One item of a mapped stage that is done."""

    kept: Kept
    key: str
    """Digest of what the item was made of."""
    fingerprint: Fingerprint
    """Of the stage, when the item was done."""
    of: int
    """How many items there were then."""


class Failure(NamedTuple):
    """How an attempt failed."""

    error: str
    at: str
    item: int | None = None
    """Which item of a mapped stage was under way; None: none, or it is no mapped one."""
    where: str | None = None
    """The last line of the stage's own code."""
