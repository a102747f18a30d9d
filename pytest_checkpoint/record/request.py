"""What the kit asks of the supervisor, and what it is told back. Plain data, sent as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Final, Self

from pytest_checkpoint.record.faults import (
    AsideAt,
    HoldAt,
    Injection,
    LostReply,
    Mark,
    Room,
    SignalAt,
)
from pytest_checkpoint.record.store.access import Access
from pytest_checkpoint.record.store.faults import StoreFault
from pytest_checkpoint.record.store.requests import StoreRequest

_PARTS: Final[
    dict[str, type[Injection | Room | SignalAt | HoldAt | AsideAt | LostReply | Mark | Access]]
] = {
    "injection": Injection,
    "room": Room,
    "signal": SignalAt,
    "hold": HoldAt,
    "aside": AsideAt,
    "mark": Mark,
    "lost_reply": LostReply,
    "store": Access,
}


def _line(message: Request | Result) -> bytes:
    """As JSON; not by :func:`dataclasses.asdict` as a whole, which copies all that is in it."""
    fields = {one.name: getattr(message, one.name) for one in dataclasses.fields(message)}
    return json.dumps(fields, default=dataclasses.asdict).encode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One execution of a command in a slot."""

    command: tuple[str, ...]
    """Arguments, ``{workspace}`` already replaced."""
    working_directory: str
    environment: dict[str, str]
    deadline_s: float
    filtered: bool = True
    """Under the filter: every run and resume. Setup and checks are not."""
    recording: str | None = None
    """Folder in which to write the recording; None: watch and count only."""
    kill_at: int | None = None
    """SIGKILL the whole tree right after this step, before its caller goes on."""
    kill_after_line: str | None = None
    """The same when it has appended this line to the events file, without its end …"""
    kill_after_times: int = 1
    """… for the so-manieth time in this execution."""
    injection: Injection | None = None
    room: Room | None = None
    signal: SignalAt | None = None
    hold: HoldAt | None = None
    aside: AsideAt | None = None
    mark: Mark | None = None
    """Where ``signal`` or ``hold`` comes, whatever their step is; None: at their step."""
    slow_s: float = 0.0
    """Every recorded call returns so much later, as from a slow disk; others do not wait for it."""
    lost_reply: LostReply | None = None
    receiver: int | None = None
    """The server's listening socket, where the job sends effects by HTTP; the server sets it."""
    store: Access | None = None
    """The object store, where the job has one; the server sets it."""
    store_faults: tuple[StoreFault, ...] = ()
    """What happens to requests to it; only where the filter is on."""
    watch_closes: bool = False
    """Record close(2) of files opened for writing as well: as operations without effects."""
    bystanders: tuple[int, ...] = ()
    """Processes of the kit's that the job could take for its own."""
    reports: bool = False
    """It is the launcher's: all of its output is kept, not the last part alone."""
    allow_network: bool = False
    allow_outside: tuple[str, ...] = ()
    copy_of: str | None = None
    """Real path of a directory of which the workspace is a copy: nothing may change it."""
    in_place: bool = False
    """The copy stands in its place: mounted over it, for this execution alone."""
    warm: bool = False
    """Fork it from an interpreter that has its imports loaded, if that is possible."""

    learned: tuple[str, ...] = ()
    """Modules that the command was seen to import, to be loaded beforehand with the others."""

    in_order: bool = False
    """Started warm, its operations have to come in the very order of a fresh process."""

    def dump(self) -> bytes:
        return _line(self)

    @classmethod
    def load(cls, line: bytes) -> Self:
        record = json.loads(line)
        record["command"] = tuple(record["command"])
        record["allow_outside"] = tuple(record["allow_outside"])
        record["bystanders"] = tuple(record["bystanders"])
        record["learned"] = tuple(record["learned"])
        record["store_faults"] = tuple(map(StoreFault.load, record["store_faults"]))
        for name, kind in _PARTS.items():
            if record[name] is not None:
                record[name] = kind.load(record[name])
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a request. Times in seconds, sizes in bytes."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    killed_at: int | None = None
    """The step after which the tree was killed, if ``kill_at`` was reached or the line that
    ``kill_after_line`` waits for was appended: whether either fired."""
    fired_at: int | None = None
    """The step at which a fault first showed: the operation that failed or was cut short, the one
    after which the signal was sent, or that was held or put aside. None: it did not fire."""
    started_ns: int = 0
    """When the recording began, on CLOCK_MONOTONIC: what the times of operations count from."""
    grace_over: bool = False
    """Something of the job still lived when the grace after the signal was over, and was killed."""
    real_room: str | None = None
    """The real file system whose room was limited: ``a tmpfs of 8 blocks in a namespace …``."""
    no_real_room: str | None = None
    """Why there was none, although it was asked for."""
    refused: tuple[str, str, int, float] | None = None
    """Of an operation that was refused for lack of room, call, normalised path, how often, and
    within how many seconds: of the one that was most often. None: nothing was."""
    not_in_place: str | None = None
    """Why the copy could not stand in the place of what it is a copy of: nothing has run."""
    room_again_s: float | None = None
    """Seconds after the first refusal, or the start, when there was room again; None: never."""
    wall_s: float = 0.0
    user_cpu_s: float = 0.0
    startup_cpu_s: float = 0.0
    workspace_bytes: int = 0
    all_bytes: int = 0
    operations: int = 0
    steps: int = 0
    requests: tuple[StoreRequest, ...] = ()
    """What was asked of the object store, in order; of executions that are not recorded too."""
    output: str = ""
    """Standard output, decoded with surrogateescape; the last part of it if it was long."""
    error_output: str = ""
    refusal: str | None = None
    problem: str | None = None
    created_outside: tuple[str, ...] = ()
    reaches_out: bool = False
    """It has tried to reach another process by a socket, or written into a file outside."""
    strayed: tuple[str, ...] = ()
    """Signals that it tried to send to processes that are not its own."""
    mapped: tuple[int, ...] = ()
    """Nodes that were mapped shared and writable."""
    unreadable: tuple[str, ...] = ()
    """Paths of such files that could not be read."""
    warm: str | None = None
    """It started warm: ``python 3.11, 214 modules preloaded``."""
    made_first: tuple[str, ...] = ()
    """Folders, relative to the slot, that a fresh process makes when it imports its modules, and
    this one made before its first line."""
    fresh_because: str | None = None
    """Why it did not, although it was asked for; empty: there is nothing to be said about it."""
    failure: str | None = None
    """The supervisor itself failed: for a HarnessError."""

    def dump(self) -> bytes:
        return _line(self)

    @classmethod
    def load(cls, line: bytes) -> Self:
        record = json.loads(line)
        for name in ("created_outside", "strayed", "mapped", "unreadable", "made_first"):
            record[name] = tuple(record[name])
        record["requests"] = tuple(map(StoreRequest.load, record["requests"]))
        if record["refused"] is not None:
            record["refused"] = tuple(record["refused"])
        return cls(**record)
