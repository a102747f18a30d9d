"""What one recorded call did to the tree.

An :class:`Operation` is one system call that matters for durability, at its place in the one order
in which the supervisor let all threads of all processes of the subject proceed. What it did is a
tuple of *effects* that become visible together: a kill leaves all of them or none, only the last
:class:`Write` can be cut short. Effects name inodes by :data:`~pytest_checkpoint.tree.image.NodeId`
and never by path, so that renames, hard links and descriptors that outlive a name come out right.

A call that failed has ``error`` set and no effects. It is kept: a failed fsync persists nothing,
and the person who reads the log wants to see it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeVar, dataclass_transform

from pytest_checkpoint.tree.image import NodeId

_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True)
def _effect(kind: type[_Kind]) -> type[_Kind]:
    """A frozen dataclass to the type checkers, who see to it that nobody changes one.

    One that is frozen at run time too takes three times as long to make, and the job waits.
    """
    return dataclass(slots=True, unsafe_hash=True)(kind)


@_effect
class Create:
    """A new inode under a name. ``kind`` as in :class:`NodeKind`; ``target`` for symlinks."""

    directory: NodeId
    name: bytes
    node: NodeId
    kind: NodeKind
    mode: int
    target: bytes = b""
    device: int = 0


class NodeKind(enum.StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


@_effect
class CreateUnnamed:
    """A new file without a name (O_TMPFILE); a later :class:`Link` may give it one."""

    node: NodeId
    mode: int


class Origin(enum.StrEnum):
    """How bytes came into a file."""

    CALL = "call"
    """write, sendfile, copy_file_range …: a crash may cut it short."""
    MAPPED = "mapped"
    """Stored through a shared mapping: seen afterwards, so its cuts say nothing."""
    ARRIVED = "arrived"
    """Came whole, with a rename or link from outside the recorded tree."""


@_effect
class Write:
    """Bytes put at an offset."""

    node: NodeId
    offset: int
    data: bytes | memoryview
    origin: Origin = Origin.CALL
    durable: bool = False
    """Written through O_SYNC, O_DSYNC or RWF_(D)SYNC: on disk when the call returned."""


@_effect
class Truncate:
    node: NodeId
    size: int


@_effect
class Allocate:
    """fallocate(2): ``zero`` clears the range; ``keep_size`` leaves the length as it is."""

    node: NodeId
    offset: int
    length: int
    zero: bool
    keep_size: bool


@_effect
class Link:
    directory: NodeId
    name: bytes
    node: NodeId


@_effect
class Unlink:
    """A name goes: unlink, rmdir, or a rename to somewhere outside the recorded tree."""

    directory: NodeId
    name: bytes


@_effect
class Rename:
    """One atomic step on one or two directories; replaces what the target name held."""

    source_directory: NodeId
    source_name: bytes
    target_directory: NodeId
    target_name: bytes
    exchange: bool = False


@_effect
class SetMode:
    node: NodeId
    mode: int


@_effect
class SetOwner:
    node: NodeId
    user: int
    group: int


@_effect
class SetTime:
    """The modification time as it stood after the call; restored, never compared."""

    node: NodeId
    mtime_ns: int


@_effect
class SetAttribute:
    """An extended attribute; ``value`` None removes it."""

    node: NodeId
    name: bytes
    value: bytes | None


@_effect
class Sync:
    """A call that makes data durable. ``node`` None: the whole file system (sync, syncfs)."""

    node: NodeId | None
    data_only: bool


@_effect
class MapShared:
    """The file is mapped shared and writable from here on: its stores cannot be seen one by one."""

    node: NodeId


@_effect
class Event:
    """Bytes appended to the events file: one line, or several written at once."""

    data: bytes


@_effect
class Sent:
    """Lines appended to the effects file: what has left the job, by that file or by a request."""

    data: bytes


STORE_CALL: Final = "s3"
"""The call that a request to the object store is recorded as."""


@_effect
class Stored:
    """A request to the object store; ``path`` of its operation is ``PUT s3://bucket/key``."""

    data: bytes
    """Lines appended to the log of objects: what the store holds otherwise since; may be none."""
    status: int
    """Of the answer; 0: none was given."""
    size: int
    """Bytes of the body that was sent."""


Effect = (
    Create
    | CreateUnnamed
    | Write
    | Truncate
    | Allocate
    | Link
    | Unlink
    | Rename
    | SetMode
    | SetOwner
    | SetTime
    | SetAttribute
    | Sync
    | MapShared
    | Event
    | Sent
    | Stored
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call, in order. ``step`` counts from 1; step 0 is the moment before the first.

    ``path`` and ``target_path`` are for people: relative to the recorded directory, the workspace
    being ``w`` and TMPDIR ``t``. ``time_ns`` is monotonic, from the start of the run.
    ``node``: the inode that a call which failed was about, where that was one and is known: a
    path may lead to another one by then.
    """

    step: int
    call: str
    path: bytes
    effects: tuple[Effect, ...]
    target_path: bytes = b""
    process: int = 0
    thread: int = 0
    time_ns: int = 0
    error: int = 0
    node: NodeId | None = None

    @property
    def is_event(self) -> bool:
        """A line of the events file, an effect, a request: nothing that a crash could undo."""
        return any(isinstance(effect, (Event, Sent, Stored)) for effect in self.effects)

    @property
    def write(self) -> Write | None:
        """The write that a crash may cut short, if this operation holds one."""
        for effect in self.effects:
            if isinstance(effect, Write) and effect.origin is Origin.CALL:
                return effect
        return None


WORKSPACE: Final = b"w"
TEMPORARY: Final = b"t"
