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
from pytest_checkpoint.record.belonging import Belonging
from pytest_checkpoint.record.caller import Caller, is_regular
from pytest_checkpoint.record.directories import Directories
from pytest_checkpoint.record.injector import Deed, Denied, Intent, Trouble
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.record.mapped import MappedFiles
from pytest_checkpoint.record.marks import MarkFinder
from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Effect,
    Event,
    MapShared,
    Origin,
    Sent,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Stored,
    Write,
)
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.policy import Policy
from pytest_checkpoint.record.reply import Fails, PassOn
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.image import NodeId

_EVENTS: Final = frozenset({Event, Sent, Stored})
_RIGHTS: Final = frozenset({Create, CreateUnnamed, SetMode, SetOwner, SetAttribute})
_PRIVILEGED: Final = stat.S_ISUID | stat.S_ISGID
OnStep = Callable[[int, tuple[Effect, ...]], None]


@dataclass(slots=True)
class Totals:
    operations: int = 0
    """Recorded ones; events, effects and requests not counted."""
    events: int = 0
    workspace_bytes: int = 0
    all_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Recorder:
    """What the handlers of calls work on."""

    tree: TrackedTree
    policy: Policy
    belonging: Belonging
    slot: Path
    """The recorded directory."""
    journal: Journal | None
    """None: only watch and count."""
    on_step: OnStep | None
    """Called after each recorded step with what it did, before the caller goes on."""
    troubles: tuple[Trouble, ...] = ()
    """What may deny calls, or cut them short."""
    fired_at: int | None = None
    """The step at which one of them first did."""
    mark: MarkFinder | None = None
    """Where a signal or a hold comes; None: at a step of its own."""
    directories: Directories = field(init=False)
    """Those of the tree that are kept open."""
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
    size_limit_varies: bool = False
    """Some process has set a file size limit, or has asked for its own."""
    asks_for_size_limit: bool = True
    """Until it is seen that there is none, which holds for all, or if that varies."""
    _privileged: dict[NodeId, int] = field(default_factory=dict)
    """Files with set-user-ID or set-group-ID bits, which changing their data may clear."""

    _owner: tuple[int, int] = field(default_factory=lambda: (os.geteuid(), os.getegid()))

    def __post_init__(self) -> None:
        self.directories = Directories(self.tree, os.fsencode(self.slot))
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
        node: NodeId | None = None,
    ) -> None:
        """Write down one call; it has been carried out, the caller still waits.

        ``node``: of one that failed, see :class:`Operation`.
        """
        step = self.step = self.step + 1
        if effects and type(effects[0]) in _EVENTS:
            self.totals.events += 1
        else:
            self.totals.operations += 1
        size = 0
        for effect in effects:
            if type(effect) is Write:
                size += len(effect.data)
                self._count(effect, path)
            elif type(effect) in _RIGHTS:
                self._note_rights(effect)
        if self.journal is not None:
            time_ns = time.monotonic_ns() - self.started_ns
            process, thread = caller.process, caller.thread
            self.journal.append(
                (step, call, path, effects, target_path, process, thread, time_ns, error, node),
                size,
            )
        for trouble in self.troubles:
            trouble.after(call, path, target_path, effects, error)
        if self.on_step is not None:
            self.on_step(step, effects)

    def intend(
        self,
        caller: Caller,
        call: str,
        path: bytes,
        target_path: bytes = b"",
        *,
        deed: Deed,
        node: NodeId | None = None,
        start: int = 0,
        length: int = 0,
    ) -> int:
        """To be asked by a handler just before it carries out what it is going to record.

        Takes the paths as they will be recorded; for the rest see :class:`Intent`. Returns how many
        of ``length`` bytes may be written. Raises :class:`Fails` where the call must fail: that has
        been written down then. Before that, what was stored through mappings is.
        """
        if self.mapped.files:
            self.catch_up(caller)
        if not self.troubles:
            return length
        intent = Intent(call, path, target_path, deed, node, start, length)
        granted = length
        try:
            for trouble in self.troubles:
                granted = min(granted, trouble.before(intent))
        except Denied as denied:
            if denied.fires:
                self._fire()
            error = denied.error
            self.record(caller, call, path, target_path=target_path, error=error, node=node)
            raise Fails(error) from denied
        if granted < length:
            self._fire()
        return granted

    def _fire(self) -> None:
        """At the operation that is recorded next."""
        if self.fired_at is None:
            self.fired_at = self.step + 1

    def is_at(self, step: int) -> bool:
        """Whether what waits for this step, or for the mark if there is one, comes now."""
        return self.step == step if self.mark is None else self.mark.is_here

    def will_fire(self) -> None:
        """At the operation that is recorded next."""
        self._fire()

    def has_fired(self) -> None:
        """At the operation that was recorded just now."""
        if self.fired_at is None:
            self.fired_at = self.step

    def _count(self, write: Write, path: bytes) -> None:
        """``path``: of the operation, which is the file's unless it has just arrived."""
        size = len(write.data)
        self.totals.all_bytes += size
        if write.origin is Origin.ARRIVED:
            path = self.tree.path(write.node)
        if self.tree.in_workspace(path):
            self.totals.workspace_bytes += size

    def _note_rights(self, effect: Effect) -> None:
        """Who may do what with an inode is about to be different, or it is a new one."""
        if isinstance(effect, (Create, CreateUnnamed, SetMode)):
            self._note_mode(effect.node, effect.mode)
        elif isinstance(effect, (SetOwner, SetAttribute)) and self.tree.is_directory(effect.node):
            self.tree.distrust()

    def _note_mode(self, node: NodeId, mode: int) -> None:
        if mode & _PRIVILEGED:
            self._privileged[node] = mode
        elif self._privileged:
            self._privileged.pop(node, None)
        if not mode & stat.S_IXUSR and self.tree.is_directory(node):
            self.tree.distrust()

    def made(self, node: NodeId, status: os.stat_result) -> tuple[Effect, ...]:
        """What else there is to say of a new inode; nothing, if nobody writes it down."""
        if self.journal is None:
            return ()
        time = SetTime(node, status.st_mtime_ns)
        owner = (status.st_uid, status.st_gid)
        return (time,) if owner == self._owner else (SetOwner(node, *owner), time)

    def modified(self, node: NodeId, file: int) -> tuple[Effect, ...]:
        """What else a change of a file's data has changed, like :meth:`made`.

        ``file``: a descriptor of it.
        """
        if self.journal is None:
            return ()
        status = os.fstat(file)
        time = SetTime(node, status.st_mtime_ns)
        mode = stat.S_IMODE(status.st_mode)
        if self._privileged.get(node, mode) != mode:
            return time, SetMode(node, mode)
        return (time,)

    def touched(
        self, node: NodeId, place: Place, other: tuple[NodeId, Place] | None = None
    ) -> tuple[Effect, ...]:
        """The times of one or two directories in which a name has changed, like :meth:`made`.

        Each with a place in it.
        """
        if self.journal is None:
            return ()
        first = SetTime(node, os.fstat(place.directory).st_mtime_ns)
        if other is None or other[0] == node:
            return (first,)
        return first, SetTime(other[0], os.fstat(other[1].directory).st_mtime_ns)

    def catch_up(self, caller: Caller) -> None:
        """Write down what was stored through shared mappings since the last operation."""
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
        self.intend(caller, call, self.tree.path(node), deed=Deed.MAP, node=node)
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
        if place.node is not None:
            return place.node
        node = self.tree.directory(place.identity)
        if node is not None:
            place.keep(self.directories)
        return node


def number_of(error: OSError) -> int:
    return error.errno or errno.EIO
