"""One recording in the making: the tree as it stands, the operations so far, the totals."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_checkpoint.record.caller import Caller, PassOn, Place, is_regular
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.record.mapped import MappedFiles
from pytest_checkpoint.record.operations import (
    Effect,
    Event,
    MapShared,
    Operation,
    Origin,
    SetTime,
    Write,
)
from pytest_checkpoint.record.policy import Policy
from pytest_checkpoint.record.tracked import TrackedTree, identity_of
from pytest_checkpoint.tree.image import NodeId


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
    journal: Journal | None
    """None: only watch and count."""
    on_step: Callable[[int], None]
    """Called after each recorded step, before the caller goes on."""
    mapped: MappedFiles = field(default_factory=MappedFiles)
    totals: Totals = field(default_factory=Totals)
    step: int = 0
    started_ns: int = field(default_factory=time.monotonic_ns)
    shared_readable: bool = False
    """Some recorded file is mapped shared but read-only: mprotect may make it writable."""

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
        if any(isinstance(effect, Event) for effect in effects):
            self.totals.events += 1
        else:
            self.totals.operations += 1
        for effect in effects:
            if isinstance(effect, Write):
                self._count(effect)
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
        self.on_step(self.step)

    def _count(self, write: Write) -> None:
        size = len(write.data)
        self.totals.all_bytes += size
        if self.tree.in_workspace(self.tree.path(write.node)):
            self.totals.workspace_bytes += size

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

    def begin_mapping(self, caller: Caller, call: str, node: NodeId, number: int) -> None:
        if node in self.mapped:
            return
        self.catch_up(caller)
        self.mapped.add(node, caller.thread, number)
        self.record(caller, call, self.tree.path(node), MapShared(node))

    # --- looking up ---

    def tracked_file(self, caller: Caller, number: int) -> NodeId:
        """The recorded regular file behind a descriptor; everything else is passed on."""
        status = caller.descriptor_status(number)
        node = self.tree.file(status) if is_regular(status) else None
        if node is None:
            raise PassOn
        return node

    def is_events(self, caller: Caller, number: int) -> bool:
        return identity_of(caller.descriptor_status(number)) == self.tree.events

    def directory(self, place: Place) -> NodeId | None:
        return self.tree.directory(place.identity)


def modified(node: NodeId, status: os.stat_result) -> SetTime:
    return SetTime(node, status.st_mtime_ns)


def touched(node: NodeId, directory: int) -> SetTime:
    """The modification time of a directory, after a name in it has changed."""
    return SetTime(node, os.fstat(directory).st_mtime_ns)


def number_of(error: OSError) -> int:
    return error.errno or errno.EIO
