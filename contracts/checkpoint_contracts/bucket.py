"""What a job sends to an object store, and what the store holds: frozen values."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

S3: Final = "s3"
"""The capability: the job keeps objects in the bucket that it declares."""


class Verb(enum.StrEnum):
    """What a request asks of the store."""

    PUT = "put"
    """A whole object."""
    CREATE = "create"
    """The beginning of an upload in parts."""
    PART = "part"
    COMPLETE = "complete"
    """The end of an upload in parts: only now there is an object."""
    ABORT = "abort"
    DELETE = "delete"
    GET = "get"
    HEAD = "head"
    LIST = "list"
    OTHER = "other"


WHOLE: Final = frozenset({Verb.PUT, Verb.COMPLETE})
"""After one of these that is carried out an object stands under its key."""
SENDS: Final = frozenset({Verb.PUT, Verb.CREATE, Verb.PART, Verb.COMPLETE})
"""Those by which an object is sent, or a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object that the store holds."""

    key: str
    size_bytes: int
    digest: str
    """SHA-256 of its bytes, hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """A request of the job, in the order in which the store was asked."""

    verb: Verb
    key: str = ""
    """Empty: of the bucket as a whole."""
    path: str = ""
    """All that it asks for, without what differs from attempt to attempt: ``PUT s3://bucket/key``,
    which part, which listing."""
    size_bytes: int = 0
    """Of the object, or the part, that was sent."""
    digest: str = ""
    """SHA-256 of the bytes of the object, or the part, as the job sent it, whatever the store made
    of them; empty: it sent none, or not all of them."""
    status: int = 0
    """What it was answered; 0: nothing."""
    at_s: float = 0.0
    """Seconds since the command had started."""
    fault: str = ""
    """What was done to it, the word of the fault; empty: nothing."""
    step: int = 0
    """Of the recorded run: the operation that it is; 0: nothing was recorded."""

    @property
    def refused(self) -> bool:
        """Whether the job knows that it was not carried out, by its own doing."""
        return 400 <= self.status < 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerLink:
    """A marker that stands for one object, as the undisturbed run shows."""

    marker: str
    """A path in the workspace, or a key of the bucket."""
    key: str
    in_bucket: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """What is known of a job's objects from its two undisturbed runs."""

    declares_markers: bool = False
    reconciles: bool = False
    """It declares a command that compares its markers with the bucket."""
    links: tuple[MarkerLink, ...] = ()
    unlinked: tuple[str, ...] = ()
    """Markers of which it cannot be told which one object they stand for."""
    rewritten: frozenset[str] = frozenset()
    """Keys that a run stores more than once, not with the same bytes: objects that grow."""
    markers_in_bucket: frozenset[str] = frozenset()
    """Keys that are markers."""
    ephemeral: frozenset[str] = frozenset()
    """Keys that are left out of comparisons, and get no faults: of refused requests, too."""

    def links_of(self, key: str) -> tuple[MarkerLink, ...]:
        return tuple(link for link in self.links if link.key == key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampered:
    """What was done to the finished job's bucket and markers before it was to be reconciled."""

    lost: tuple[str, ...] = ()
    """Keys of objects that were deleted."""
    truncated: tuple[str, ...] = ()
    """Keys of objects of which the second half is gone."""
    orphaned: tuple[MarkerLink, ...] = ()
    """Markers that were removed; their objects are whole."""
    foreign: tuple[StoredObject, ...] = ()
    """Objects that are not the job's."""


def by_key(objects: Iterable[StoredObject]) -> Mapping[str, StoredObject]:
    return {one.key: one for one in objects}


def last_sent(requests: Iterable[StoreRequest], key: str) -> StoreRequest | None:
    """The last request that was to make this object, refused ones left out."""
    found = None
    for one in requests:
        if one.key == key and one.verb in WHOLE and not one.refused:
            found = one
    return found


def sent_keys(requests: Iterable[StoreRequest], verbs: Collection[Verb] = SENDS) -> frozenset[str]:
    """Keys of which an object, or a part of one, was sent."""
    return frozenset(one.key for one in requests if one.verb in verbs)
