"""Faults that answer: what is asked of the supervisor besides a kill. Plain data, sent as JSON.

An operation of one run is found again in another by its *identity*: the call and the paths, without
what differs from run to run (``describe.normalized``). ``injection_at`` makes an injection from a
recorded operation; ``drift.drift`` compares the way up to a fault with the recording.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Self

from pytest_checkpoint.record.describe import normalized, shown_path, signature
from pytest_checkpoint.record.operations import STORE_CALL, Operation

CLOSE: Final = "close"
CUT_SHORT: Final = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"}
)
"""Calls that may carry out a part of what they were asked for, and say how much."""
_KNOWN: Final = 65536


class Identity(NamedTuple):
    """What an operation has in common with the same one of another run."""

    call: str
    path: str
    target_path: str = ""


@lru_cache(_KNOWN)
def identity_of_call(call: str, path: bytes, target_path: bytes = b"") -> Identity:
    """The identity of a call on paths as an :class:`Operation` has them."""
    return Identity(call, _place(path), _place(target_path) if target_path else "")


def identity_of(operation: Operation) -> Identity:
    """The identity of a recorded operation; of an event, which lines it appends."""
    if operation.is_event and operation.call != STORE_CALL:
        return Identity("event", signature(operation))
    return identity_of_call(operation.call, operation.path, operation.target_path)


def _place(path: bytes) -> str:
    return normalized(shown_path(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One operation fails with an error, or is cut short; counted over all processes and threads.

    It is not carried out, and is recorded as failed, without effects. A *short* one writes only the
    first half of its bytes (no whole one of a single byte: then nothing happens) and says so.
    """

    call: str
    path: str
    """Normalised, as in :class:`Identity`."""
    target_path: str = ""
    occurrence: int = 1
    """Which of the operations of this identity in the run, from 1, in the supervisor's order."""
    error: int = errno.EIO
    """The errno; of no meaning if ``short`` and not ``lasting``."""
    short: bool = False
    """Only for the calls of :data:`CUT_SHORT`."""
    lasting: bool = False
    """What the same trouble of the device would hit later fails likewise, see ``injector``."""

    def __post_init__(self) -> None:
        if self.short and self.call not in CUT_SHORT:
            raise ValueError(f"{self.call} cannot be cut short: it writes all or nothing")
        if self.occurrence < 1:
            raise ValueError(f"occurrences count from 1, not from {self.occurrence}")

    @property
    def identity(self) -> Identity:
        return Identity(self.call, self.path, self.target_path)

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much the workspace, or a directory of it, may hold from the start of the run on.

    It is a file system of its own then, TMPDIR is on another: see ``room.quota``. What lies there
    already counts.
    """

    blocks: int | None = None
    """Of 4 KiB; None: as many as are wanted."""
    inodes: int | None = None
    bytes: int | None = None
    under: str = ""
    """The directory, relative to the workspace; empty: the workspace itself. It is there before."""
    error: int = errno.ENOSPC
    """ENOSPC, or EDQUOT."""
    real: bool = False
    """On a file system of this size, if this machine allows to mount one; else with a quota."""
    again_after_s: float | None = None
    """So long after the first refusal, or after the last change there, whichever comes first, there
    is room again, as much as is wanted: see ``room.lull``. None: never."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAt:
    """A signal right after a step was carried out, before its caller goes on; SIGKILL later.

    SIGINT goes to the process group of the root process, as Ctrl-C does; any other to the root
    process alone, as from a container runtime or a batch system. With ``whom`` the root is the
    launcher of ``companion``, and is sent SIGUSR1 besides.
    """

    step: int
    """Counts from 1."""
    number: int
    grace_s: float
    """Seconds from the signal until all that still lives is killed."""
    whom: Literal["root", "caller", "group", "job"] = "root"
    """``caller``: the process whose call it was, alone; ``group``: its process group; ``job``:
    every process below the root."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An operation of a run by what it is, where its step differs from run to run.

    The beats of a heartbeat come between the other operations at chance moments.
    """

    identity: Identity
    occurrence: int
    """Which of the operations of this identity in the run, from 1, in the supervisor's order."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(identity=Identity(*record["identity"]), occurrence=record["occurrence"])


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideAt:
    """A call is put aside just before it is carried out, and all other threads go on.

    The root, the launcher of ``companion``, is sent SIGUSR1 at that moment, and says by its first
    output when it is to be carried out. No event, nor a store through a mapping, can be put aside.
    """

    step: int
    """Counts from 1."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldAt:
    """A call does not return for a time: it is carried out, and all other threads go on.

    The root, the launcher of ``companion``, is sent SIGUSR1 at that moment.
    """

    step: int
    """Counts from 1."""
    seconds: float

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostReply:
    """An effect that is sent by HTTP arrives, and its sender never hears of it."""

    arrival: int
    """Which of the arrivals of the run, from 1."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)


def injection_at(
    operations: Sequence[Operation],
    step: int,
    error: int,
    *,
    short: bool = False,
    lasting: bool = False,
) -> Injection:
    """The injection that hits the operation ``step`` of a recording, when the run is done again.

    ValueError where there is nothing to hit: no such step, an event, a store through a mapping, or
    a sync(2), which cannot fail.
    """
    hit = next((one for one in operations if one.step == step), None)
    if hit is None:
        raise ValueError(f"there is no step {step}")
    if not injectable(hit):
        raise ValueError(f"step {step} ({hit.call}) cannot fail")
    wanted = identity_of(hit)
    earlier = sum(one.step < step and identity_of(one) == wanted for one in operations)
    return Injection(
        call=wanted.call,
        path=wanted.path,
        target_path=wanted.target_path,
        occurrence=earlier + 1,
        error=error,
        short=short,
        lasting=lasting,
    )


def mark_at(operations: Sequence[Operation], step: int) -> Mark:
    """The mark of the operation ``step`` of a recording."""
    wanted = identity_of(operations[step - 1])
    return Mark(
        identity=wanted,
        occurrence=sum(identity_of(one) == wanted for one in operations[:step]),
    )


def injectable(operation: Operation) -> bool:
    """Whether it is a call that can be made to fail."""
    return not operation.is_event and operation.call not in ("store", "sync")


def can_be_short(operation: Operation) -> bool:
    """Whether a part of its bytes may be written, with a part left."""
    write = operation.write
    return operation.call in CUT_SHORT and write is not None and len(write.data) > 1
