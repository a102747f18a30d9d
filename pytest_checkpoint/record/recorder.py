"""One recording in the making: the tree as it stands, the operations so far, the totals."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_checkpoint.record import family
from pytest_checkpoint.record.caller import Caller, Place, is_regular
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.record.mapped import MappedFiles
from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Effect,
    Event,
    MapShared,
    Operation,
    Origin,
    SetMode,
    SetOwner,
    SetTime,
    Write,
)
from pytest_checkpoint.record.policy import Policy
from pytest_checkpoint.record.reply import PassOn
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.image import NodeId

_PRIVILEGED: Final = stat.S_ISUID | stat.S_ISGID


@dataclass(slots=True)
class Totals:
    operations: int = 0
    """Recorded ones, events not counted."""
    events: int = 0
    workspace_bytes: int = 0
    all_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Recorder:
    """What the handlers of calls work on."""

    tree: TrackedTree
    policy: Policy
    slot: Path
    """The recorded directory."""
    journal: Journal | None
    """None: only watch and count."""
    on_step: Callable[[int, tuple[Effect, ...]], None]
    """Called after each recorded step with what it did, before the caller goes on."""
    mapped: MappedFiles = field(default_factory=lambda: MappedFiles(family.is_mapped))
    totals: Totals = field(default_factory=Totals)
    step: int = 0
    started_ns: int = field(default_factory=time.monotonic_ns)
    shared_readable: bool = False
    """Some recorded file is mapped shared but read-only: mprotect may make it writable."""
    umask_varies: bool = False
    """Some process has called umask: until then all have the one that we have."""
    user_varies: bool = False
    """Some process has changed its user or groups: until then all have ours."""
    _privileged: dict[NodeId, int] = field(default_factory=dict)
    """Files with set-user-ID or set-group-ID bits, which changing their data may clear."""

    _owner: tuple[int, int] = field(default_factory=lambda: (os.geteuid(), os.getegid()))

    def __post_init__(self) -> None:
        for node, mode in self.tree.start_modes.items():
            self._note_mode(node, mode)

    # --- writing down ---

    def record(
        self,
        caller: Caller,
        call: str,
        path: bytes,
        *effects: Effect,
        target_path: bytes = b"",
        error: int = 0,
    ) -> None:
        """Write down one call; it has been carried out, the caller still waits."""
        self.step += 1
        if effects and isinstance(effects[0], Event):
            self.totals.events += 1
        else:
            self.totals.operations += 1
        for effect in effects:
            if isinstance(effect, Write):
                self._count(effect)
            elif isinstance(effect, (Create, CreateUnnamed, SetMode)):
                self._note_mode(effect.node, effect.mode)
        if self.journal is not None:
            self.journal.append(
                Operation(
                    step=self.step,
                    call=call,
                    path=path,
                    target_path=target_path,
                    effects=effects,
                    process=caller.process,
                    thread=caller.thread,
                    time_ns=time.monotonic_ns() - self.started_ns,
                    error=error,
                )
            )
        self.on_step(self.step, effects)

    def _count(self, write: Write) -> None:
        size = len(write.data)
        self.totals.all_bytes += size
        if self.tree.in_workspace(self.tree.path(write.node)):
            self.totals.workspace_bytes += size

    def _note_mode(self, node: NodeId, mode: int) -> None:
        if mode & _PRIVILEGED:
            self._privileged[node] = mode
        else:
            self._privileged.pop(node, None)

    def made(self, node: NodeId, status: os.stat_result) -> tuple[Effect, ...]:
        """What else there is to say of a new inode."""
        time = SetTime(node, status.st_mtime_ns)
        owner = (status.st_uid, status.st_gid)
        return (time,) if owner == self._owner else (SetOwner(node, *owner), time)

    def modified(self, node: NodeId, status: os.stat_result) -> tuple[Effect, ...]:
        """What else a change of a file's data has changed; ``status`` is from after it."""
        time = SetTime(node, status.st_mtime_ns)
        mode = stat.S_IMODE(status.st_mode)
        if self._privileged.get(node, mode) != mode:
            return time, SetMode(node, mode)
        return (time,)

    def catch_up(self, caller: Caller) -> None:
        """Write down what was stored through shared mappings since the last operation.

        To be called before a recorded call is carried out.
        """
        if not self.mapped:
            return
        for node, offset, data in self.mapped.stores():
            self.record(
                caller,
                "store",
                self.tree.path(node),
                Write(node, offset, data, Origin.MAPPED),
            )

    def begin_mapping(self, caller: Caller, call: str, node: NodeId, number: int | None) -> None:
        """``number``: a descriptor of the caller's for the file, if there still is one."""
        if node in self.mapped:
            return
        self.catch_up(caller)
        paths = [self.slot / os.fsdecode(self.tree.path(node))]
        if number is not None:
            paths.insert(0, Path(f"/proc/{caller.thread}/fd/{number}"))
        self.mapped.add(node, paths)
        self.record(caller, call, self.tree.path(node), MapShared(node))

    # --- looking up ---

    def tracked_file(self, caller: Caller, number: int) -> NodeId:
        """The recorded regular file behind a descriptor; everything else is passed on."""
        node = self.file(caller.descriptor_status(number))
        if node is None:
            raise PassOn
        return node

    def file(self, status: os.stat_result) -> NodeId | None:
        """The recorded regular file with this status, if it is one."""
        return self.tree.file(status) if is_regular(status) else None

    def directory(self, place: Place) -> NodeId | None:
        return self.tree.directory(place.identity)


def touched(node: NodeId, directory: int) -> SetTime:
    """The modification time of a directory, after a name in it has changed."""
    return SetTime(node, os.fstat(directory).st_mtime_ns)


def number_of(error: OSError) -> int:
    return error.errno or errno.EIO
