"""What an object store does to its clients, each a named fault; and when it happens.

What is simulated: a store and a network that fail as S3 and what imitates it are known to fail. One
request is hit, so many in a row, or all from one on. What is not: an object that changes or goes
after it was stored whole (that is a state, made by lines of ``State.objects``), a store that
loses what it has listed, clocks that differ.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Self

from pytest_checkpoint.record.describe import normalized
from pytest_checkpoint.record.operations import STORE_CALL, Operation
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.checksums import sums_of
from pytest_checkpoint.tree.image import printable


class Kind(enum.StrEnum):
    """What happens to a request that is hit."""

    SILENT_SUCCESS = "silent-success"
    """200 as if it had been done, and nothing is: a gateway that acknowledges too early."""
    TRUNCATED_BODY = "truncated-body"
    """200 with the ETag of the whole, and only the first half of the bytes is held: see HEAD."""
    FLIPPED_BODY = "flipped-body"
    """200 with the ETag of what was sent, and one byte in the middle is held otherwise."""
    LOST_REPLY = "lost-reply"
    """It is carried out, and the connection is reset instead of an answer."""
    SLOW_DOWN = "slow-down-503"
    """503 SlowDown: too many requests for the prefix. Nothing is done."""
    INTERNAL_ERROR = "internal-500"
    """500 InternalError. Nothing is done."""
    RESET_BEFORE = "reset-before"
    """The connection is reset as soon as the head of the request is there."""
    RESET_IN_BODY = "reset-in-body"
    """The connection is reset when half of the body is there."""
    HANG = "hang"
    """Not carried out, and never answered: until the client gives up, or its deadline comes."""
    SLOW = "slow"
    """Carried out and answered so much later: ``seconds``, and at ``bytes_per_s``, which all
    requests that are hit share. Who gives up before has not sent it."""
    FORBIDDEN = "forbidden-403"
    """403 AccessDenied: credentials that have expired, or lack a right."""
    NO_SUCH_BUCKET = "no-such-bucket-404"
    """404 NoSuchBucket."""
    WRONG_ETAG = "wrong-etag"
    """Carried out, and the ETag in the answer is not that of the bytes: encryption, a gateway."""
    DUPLICATE_DELIVERY = "duplicate-delivery"
    """Carried out twice in a row, answered once: a retry within the network."""
    STALE_LIST = "stale-list"
    """A LIST as it would have been before the last ``changes`` changes of the bucket."""


_ANY: Final = frozenset(
    {
        Kind.SLOW_DOWN,
        Kind.INTERNAL_ERROR,
        Kind.RESET_BEFORE,
        Kind.RESET_IN_BODY,
        Kind.HANG,
        Kind.SLOW,
        Kind.FORBIDDEN,
        Kind.NO_SUCH_BUCKET,
        Kind.LOST_REPLY,
    }
)
_BODIES: Final = frozenset({Kind.TRUNCATED_BODY, Kind.FLIPPED_BODY, Kind.WRONG_ETAG})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFault:
    """A fault of the store, and the requests that it hits: counted as their heads arrive."""

    kind: Kind
    method: str = ""
    """``PUT`` …; empty: any."""
    operation: str = ""
    """``PutObject`` …, see :attr:`Asked.operation`; empty: any."""
    path: str = ""
    """Normalised, as in :class:`~pytest_checkpoint.record.faults.Identity`; empty: any."""
    key: str = ""
    """A glob of keys, ``*`` matching ``/`` too; empty: any, and requests about the bucket."""
    occurrence: int = 1
    """Which of the requests that it may hit is the first, from 1."""
    times: int | None = 1
    """So many in a row; None: all from then on."""
    most: int | None = None
    """When it has hit one and the same request so often the job is killed: it would never end."""
    seconds: float = 0.0
    """Of :attr:`Kind.SLOW`."""
    bytes_per_s: float = 0.0
    """Of :attr:`Kind.SLOW`; 0: no limit."""
    changes: int = 1
    """Of :attr:`Kind.STALE_LIST`."""

    def __post_init__(self) -> None:
        if self.occurrence < 1 or (self.times is not None and self.times < 1) or self.changes < 1:
            raise ValueError("occurrences, times and changes count from 1")
        if self.kind is Kind.SLOW and not (self.seconds > 0 or self.bytes_per_s > 0):
            raise ValueError("slow by how much? Give seconds, or bytes_per_s")

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**{**record, "kind": Kind(record["kind"])})

    def may_hit(self, asked: Asked) -> bool:
        """Whether it can happen to such a request, and this one is meant."""
        if self.method not in ("", asked.method) or self.operation not in ("", asked.operation):
            return False
        if self.path and self.path != identity_path(asked.path):
            return False
        if self.key and not fnmatchcase(asked.key, self.key):
            return False
        return self.kind in _ANY or _can(self.kind, asked)


def _can(kind: Kind, asked: Asked) -> bool:
    if kind is Kind.STALE_LIST:
        return asked.lists
    if kind in _BODIES:
        return asked.stores
    return asked.changes and asked.operation != "CreateMultipartUpload"


def identity_path(path: bytes) -> str:
    """A recorded path of a request as :class:`Identity` has it."""
    return normalized(printable(path))


def store_fault_at(
    operations: Sequence[Operation], step: int, kind: Kind, **more: Any
) -> StoreFault:
    """The fault that hits the request of a recording's ``step``, when the run is done again.

    ``more``: other fields of :class:`StoreFault`. ValueError if it is no request.
    """
    hit = next((one for one in operations if one.step == step), None)
    if hit is None or hit.call != STORE_CALL:
        raise ValueError(f"step {step} is no request to the object store")
    path = identity_path(hit.path)
    earlier = sum(
        one.step < step and one.call == STORE_CALL and identity_path(one.path) == path
        for one in operations
    )
    return StoreFault(kind=kind, path=path, occurrence=earlier + 1, **more)


@dataclass(slots=True)
class Faults:
    """Those of one execution, and how many requests each has met."""

    faults: Sequence[StoreFault]
    _met: list[int] = field(default_factory=list)
    _hits: Counter[bytes] = field(default_factory=Counter)
    """Of the faults that have a bound, by the request's path."""

    def __post_init__(self) -> None:
        self._met = [0] * len(self.faults)

    def add(self, fault: StoreFault) -> None:
        """From the next request on; another thread may be asking :meth:`hit` meanwhile."""
        self._met.append(0)
        self.faults = [*self.faults, fault]

    def hit(self, asked: Asked) -> StoreFault | None:
        """The first that hits this request, whose head has just arrived; all count it."""
        found: StoreFault | None = None
        for place, fault in enumerate(self.faults):
            if not fault.may_hit(asked):
                continue
            self._met[place] += 1
            after = self._met[place] - fault.occurrence
            if after >= 0 and (fault.times is None or after < fault.times) and found is None:
                found = fault
        return found

    def is_enough(self, asked: Asked, fault: StoreFault) -> bool:
        """Whether a request that it has hit was made as often as it may be."""
        if fault.most is None:
            return False
        self._hits[asked.path] += 1
        return self._hits[asked.path] >= fault.most


def spoiled(fault: StoreFault, asked: Asked) -> Asked:
    """The request as the store has it in the end, with the checksums of what it has then."""
    body = asked.body
    if fault.kind is Kind.TRUNCATED_BODY:
        body = body[: len(body) // 2]
    elif body:
        middle = len(body) // 2
        body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
    headers = {name: value for name, value in asked.headers.items() if name != "content-md5"}
    return asked.with_body(body, headers | sums_of(headers, body))
