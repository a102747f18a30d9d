"""When each change of a recording became durable: one pass over its operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Link,
    NodeKind,
    Operation,
    Rename,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.history import History
from pytest_checkpoint.states.power_loss.changes import DataChange, DataEffect, NameChange, Slot
from pytest_checkpoint.states.power_loss.models import Persisted, Rules
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import Directory, File, Image, NodeId

_SYNC_CALLS: Final = frozenset({"fsync", "fdatasync", "msync"})


class Ledger:
    """All changes of one recording, with the step from which each is durable under one model."""

    def __init__(
        self, start: Image, operations: Sequence[Operation], history: History, rules: Rules
    ) -> None:
        """``history``: the same operations, already applied to the same ``start``."""
        self.names: Final[list[NameChange]] = []
        """In program order."""
        self.data: Final[dict[NodeId, list[DataChange]]] = defaultdict(list)
        """Per inode, in program order."""
        self.first_contents: Final[dict[NodeId, Content]] = {}
        """Per inode of :attr:`data`, before the first change."""
        self.syncs: Final[dict[NodeId | None, list[int]]] = defaultdict(list)
        """The steps of the syncs that succeeded, per inode; None: of everything."""
        self.failures: Final[dict[NodeId, list[int]]] = defaultdict(list)
        """The steps of the syncs that failed, per inode."""
        self.changed_nodes: Final[dict[int, set[NodeId]]] = defaultdict(set)
        """Step → the inodes that it made, or changed the content or mode of."""
        self.directories: Final[set[NodeId]] = set()
        """All that there ever were."""
        self._rules: Final = rules
        self._history: Final = history
        self._now: dict[Slot, NodeId] = {}
        self._creations: dict[NodeId, NameChange] = {}
        """The change that gave an inode its first name; none for what was there at the start."""
        self._nameless: set[NodeId] = set()
        """Created, but not noted under a name yet."""
        self._pending_names: dict[NodeId, list[NameChange]] = defaultdict(list)
        """By directory."""
        self._first_pending = 0
        """No name change before this index is pending, where names go in order."""
        self._pending_data: dict[NodeId, list[DataChange]] = defaultdict(list)
        self._altered: dict[NodeId, int] = {}
        """Inodes created, truncated or grown since their last sync → how many name changes there
        were when that happened last, its own included."""
        self._changed: dict[NodeId, int] = {}
        """Inodes → the same for the last change of the inode itself: also another number of
        links, name, owner, mode; of a directory, what is named in it. Bytes written over others
        count for nothing: they change its times, and not even these within a tick of the clock."""
        for number, node in start.nodes.items():
            if isinstance(node, Directory):
                self.directories.add(number)
                self._now.update({(number, name): child for name, child in node.entries.items()})
        tick = 0
        for operation in operations:
            self._apply(operation, tick)
            tick += len(operation.effects)

    def _apply(self, operation: Operation, tick: int) -> None:
        if operation.error:
            self._note_failure(operation)
            return
        slots: dict[Slot, NodeId | None] = {}
        changed = _changed_status(operation)
        altered = _made(operation)
        for place, effect in enumerate(operation.effects, start=tick + 1):
            match effect:
                case Create() | Link() | Unlink() | Rename():
                    moved, named = self._move(effect)
                    slots |= moved
                    changed |= named
                case SetMode(node):
                    self.changed_nodes[operation.step].add(node)
                case CreateUnnamed(node):
                    self.changed_nodes[operation.step].add(node)
                    self._nameless.add(node)
                case Write() | Truncate() | Allocate():
                    self.changed_nodes[operation.step].add(effect.node)
                    if self._alter(operation, effect, place):
                        altered.add(effect.node)
                case _:
                    pass
        if slots:
            self._note_names(NameChange(len(self.names), operation, slots))
        self._altered |= dict.fromkeys(altered, len(self.names))
        self._changed |= dict.fromkeys(changed | altered, len(self.names))
        for effect in operation.effects:
            # After the names: what an operation makes durable may be its own.
            if isinstance(effect, Sync):
                self._sync(effect, operation.step)
            elif isinstance(effect, Write) and effect.durable:
                self._sync_names_of(effect.node, operation.step, data_only=True)

    # Changes.

    def _move(
        self, effect: Create | Link | Unlink | Rename
    ) -> tuple[dict[Slot, NodeId | None], set[NodeId]]:
        """What the names lead to now; and the inodes that it changed: those that were given a
        name or lost one, and the directories."""
        slots: dict[Slot, NodeId | None]
        match effect:
            case Create(directory, name, node):
                self._nameless.add(node)
                if effect.kind is NodeKind.DIRECTORY:
                    self.directories.add(node)
                slots = {(directory, name): node}
            case Link(directory, name, node):
                slots = {(directory, name): node}
            case Unlink(directory, name):
                slots = {(directory, name): None}
            case Rename():
                source = (effect.source_directory, effect.source_name)
                target = (effect.target_directory, effect.target_name)
                moved, replaced = self._now[source], self._now.get(target)
                if moved == replaced:
                    # two names of one inode: rename(2) does nothing, and both stay
                    return {}, set()
                slots = {source: replaced if effect.exchange else None, target: moved}
        changed = {directory for directory, _ in slots}
        for slot, number in slots.items():
            changed |= {one for one in (self._now.get(slot), number) if one is not None}
        for slot, number in slots.items():
            if number is None:
                del self._now[slot]
            else:
                self._now[slot] = number
        return slots, changed

    def _note_names(self, change: NameChange) -> None:
        self.names.append(change)
        for directory in change.directories:
            self._pending_names[directory].append(change)
        for number in change.slots.values():
            if number in self._nameless:
                self._nameless.discard(number)
                self._creations[number] = change

    def _alter(self, operation: Operation, effect: DataEffect, tick: int) -> bool:
        """Whether the inode was truncated or grew."""
        node = self._history.node_at(effect.node, tick)
        before = self._history.node_at(effect.node, tick - 1)
        if not isinstance(node, File) or not isinstance(before, File):
            return False  # the history refuses such a recording
        if node.content is before.content:
            return False  # nothing to be read of it: an empty write, room set aside behind the end
        change = DataChange(operation, effect, node.content)
        self.data[effect.node].append(change)
        self.first_contents.setdefault(effect.node, before.content)
        pending = self._pending_data[effect.node]
        pending.append(change)
        if isinstance(effect, Write) and effect.durable:
            for one in pending:
                if one is change or one.sets_size:
                    one.durable_at = operation.step
            pending[:] = [one for one in pending if one.durable_at > operation.step]
        return isinstance(effect, Truncate) or node.content.size != before.content.size

    # Syncs.

    def _sync(self, effect: Sync, step: int) -> None:
        self.syncs[effect.node].append(step)
        if effect.node is None:
            self._persist_first(len(self.names), step)
            self._pending_names.clear()
            for node in list(self._pending_data):
                self._sync_data(node, step)
            self._altered.clear()
        elif effect.node in self.directories:
            self._sync_directory(effect.node, step)
        else:
            self._sync_data(effect.node, step)
            self._sync_names_of(effect.node, step, data_only=effect.data_only)

    def _sync_directory(self, node: NodeId, step: int) -> None:
        pending = self._pending_names.pop(node, [])
        if self._rules.in_order:
            self._persist_first(self._changed.get(node, 0), step)
        else:
            _persist(pending, step)

    def _sync_data(self, node: NodeId, step: int) -> None:
        pending = self._pending_data.pop(node, [])
        for change in pending:
            if not change.refused:
                change.durable_at = step
        left = [change for change in pending if change.refused]
        if left:
            self._pending_data[node] = left

    def _sync_names_of(self, node: NodeId, step: int, *, data_only: bool) -> None:
        """What a file's sync says of names."""
        altered = self._altered.pop(node, 0)
        reach = altered if data_only else self._changed.get(node, 0)
        match self._rules.file_sync:
            case Persisted.NONE:
                pass
            case Persisted.CREATION:
                creation = self._creations.get(node)
                if creation is not None and creation.index < reach:
                    _persist(self._creations_above(node), step)
            case Persisted.UP_TO_CHANGE:
                self._persist_first(reach, step)

    def _creations_above(self, node: NodeId) -> Iterator[NameChange]:
        """How the inode, the directory it was created in, and so on, got their first names."""
        while (change := self._creations.get(node)) is not None:
            yield change
            node = next(place for (place, _), named in change.slots.items() if named == node)

    def _persist_first(self, count: int, step: int) -> None:
        """So many name changes, from the first on."""
        _persist(self.names[self._first_pending : count], step)
        self._first_pending = max(self._first_pending, count)

    def _note_failure(self, operation: Operation) -> None:
        """A failed sync: what it should have persisted stays lost until it is written again."""
        if operation.call not in _SYNC_CALLS or operation.node is None:
            return
        self.failures[operation.node].append(operation.step)
        for change in self._pending_data.get(operation.node, ()):
            change.refused = not change.sets_size


def _persist(changes: Iterable[NameChange], step: int) -> None:
    for change in changes:
        change.durable_at = min(change.durable_at, step)


def _made(operation: Operation) -> set[NodeId]:
    return {
        effect.node for effect in operation.effects if isinstance(effect, Create | CreateUnnamed)
    }


def _changed_status(operation: Operation) -> set[NodeId]:
    """The inodes whose owner, mode, times or attributes a call set that does nothing else."""
    written = {
        effect.node
        for effect in operation.effects
        if isinstance(effect, Write | Truncate | Allocate)
    }
    changed = {
        effect.node
        for effect in operation.effects
        if isinstance(effect, SetMode | SetOwner | SetTime | SetAttribute)
    }
    return changed - written
