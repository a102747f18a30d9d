"""Every state that a recorded run passed through, each at hand without replaying the run.

Theory of operation: the operations are applied once, effect by effect. Each effect is a *tick*;
tick 0 is the tree before the first. What a node was is kept as versions by tick, and what a
directory named as snapshots with the changes between them, so a state is put together in time
proportional to what it holds, and all states together take memory proportional to what was changed.
The key of the tree is carried along (see :mod:`pytest_checkpoint.tree.compare`): two states can be
told equal without being built.

A recording is checked while it is applied. What the kernel could not have done (a name that appears
twice, a write to a node never created) means that the recording is wrong: an error, never skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, Generic, TypeVar

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
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
from pytest_checkpoint.tree.compare import key, term, total_key
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import (
    ROOT,
    Directory,
    File,
    Image,
    Node,
    NodeId,
    Special,
    Symlink,
    printable,
)

_FEW_CHANGES: Final = 64
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class State:
    """A tree and the lines of the events file that go with it."""

    image: Image
    events: bytes

    @property
    def key(self) -> bytes:
        """32 bytes, the same for states that a subject could not tell apart."""
        return _state_key(key(self.image), _events_hash(self.events).digest())


class Timeline:
    """The states before, between, after and within the operations of one run."""

    def __init__(self, start: Image, start_events: bytes, operations: Sequence[Operation]) -> None:
        """Apply ``operations`` to ``start``, the tree before the first, which is not changed.

        Raises :class:`HarnessError` if they contradict each other or ``start``.
        """
        self._operations: Final = operations
        self._tree: Final = _Tree(start)
        self._ends = [0]
        """Step → tick after it."""
        self._torn_names: dict[int, tuple[bytes, ...]] = {}
        """Step → the paths of the node it wrote to, at that moment."""
        events = [start_events]
        events_hash = _events_hash(start_events)
        self._events_ends = [len(start_events)]
        self._events_digests = [events_hash.digest()]
        for index, operation in enumerate(operations, start=1):
            _check(operation, index)
            added = b"".join(self._advance(operation))
            self._ends.append(self._tree.tick)
            events.append(added)
            self._events_ends.append(self._events_ends[-1] + len(added))
            events_hash.update(added)
            self._events_digests.append(events_hash.digest())
        self._events: Final = b"".join(events)

    @property
    def steps(self) -> int:
        """The number of operations: :meth:`after` takes 0 to this."""
        return len(self._operations)

    def after(self, step: int) -> State:
        """What a kill after operation ``step`` leaves; 0: before the first."""
        self._check_step(step, 0)
        return State(self._tree.image_at(self._ends[step]), self._events_after(step))

    def key(self, step: int) -> bytes:
        """``after(step).key``, without building that state."""
        self._check_step(step, 0)
        total = self._tree.totals[self._ends[step]]
        return _state_key(total_key((total,)), self._events_digests[step])

    def torn(self, step: int, cut: int) -> State:
        """What is left if only the first ``cut`` bytes of the write of ``step`` arrived.

        Effects of the same operation that come before that write are there, later ones are not.
        """
        write, tick = self._write_of(step)
        if not 0 <= cut <= len(write.data):
            raise HarnessError(
                f"step {step} wrote {len(write.data)} bytes: it cannot be cut at {cut}"
            )
        image = self._tree.image_at(tick)
        node = image.nodes.get(write.node)
        if isinstance(node, File):  # else it has no name by now, and the cut is not to be seen
            content = node.content.write(write.offset, write.data[:cut])
            image = Image({**image.nodes, write.node: replace(node, content=content)})
        return State(image, self._events_after(step - 1))

    def torn_keys(self, step: int, cuts: Iterable[int]) -> Iterator[bytes]:
        """``torn(step, cut).key`` for each of ``cuts``, which must rise, without building them."""
        write, tick = self._write_of(step)
        total = self._tree.totals[tick]
        events_digest = self._events_digests[step - 1]
        names = self._torn_names[step]
        node = self._tree.node_at(write.node, tick)
        if not isinstance(node, File) or not names:
            unseen = _state_key(total_key((total,)), events_digest)
            yield from (unseen for _ in cuts)
            return
        others = total - term(names, node)
        content = node.content
        done = 0
        for cut in cuts:
            # Each goes on from the one before, else a write of n blocks would be hashed n times.
            content = content.write(write.offset + done, write.data[done:cut])
            done = cut
            torn = File(mode=node.mode, content=content)
            yield _state_key(total_key((others, term(names, torn))), events_digest)

    def _advance(self, operation: Operation) -> Iterator[bytes]:
        """Apply one operation; yields what it appended to the events."""
        write = operation.write
        for effect in operation.effects:
            if write is not None and effect is write:
                self._torn_names[operation.step] = self._tree.names_of(write.node)
            try:
                self._tree.apply(effect)
            except _ContradictionError as contradiction:
                raise HarnessError(
                    f"the recording contradicts itself at step {operation.step} "
                    f"({operation.call} {printable(operation.path)}): {contradiction}"
                ) from None
            if isinstance(effect, Event):
                yield effect.data

    def _write_of(self, step: int) -> tuple[Write, int]:
        """The write of a step, and the tick just before it."""
        self._check_step(step, 1)
        operation = self._operations[step - 1]
        write = operation.write
        if write is None:
            raise HarnessError(f"step {step} ({operation.call}) wrote nothing that can be torn")
        before = next(i for i, effect in enumerate(operation.effects) if effect is write)
        return write, self._ends[step - 1] + before

    def _events_after(self, step: int) -> bytes:
        return self._events[: self._events_ends[step]]

    def _check_step(self, step: int, least: int) -> None:
        if not least <= step <= self.steps:
            raise HarnessError(f"there is no step {step}: the recording has {self.steps}")


def _check(operation: Operation, index: int) -> None:
    if operation.step != index:
        raise HarnessError(
            f"the recording is out of order: step {operation.step} stands at place {index}"
        )
    if operation.error and operation.effects:
        raise HarnessError(
            f"the recording contradicts itself at step {index}: {operation.call} failed, "
            f"but is said to have changed something"
        )


def _events_hash(events: bytes) -> blake2b:
    return blake2b(events, digest_size=32)


def _state_key(image_key: bytes, events_digest: bytes) -> bytes:
    return blake2b(image_key + events_digest, digest_size=32).digest()


class _ContradictionError(Exception):
    """An effect that the kernel could not have had; the message ends a sentence."""


class _Versions(Generic[_Value]):
    """What one thing was, by tick."""

    __slots__ = ("_ticks", "_values")

    def __init__(self, tick: int, value: _Value) -> None:
        self._ticks = [tick]
        self._values = [value]

    def set(self, tick: int, value: _Value) -> None:
        self._ticks.append(tick)
        self._values.append(value)

    def at(self, tick: int) -> _Value | None:
        """None if it was not there yet."""
        index = bisect_right(self._ticks, tick)
        return self._values[index - 1] if index else None

    @property
    def last(self) -> _Value:
        return self._values[-1]


class _Names:
    """What one directory named, by tick: now and then all of it, and the changes since.

    A snapshot is taken after as many changes as it is long, so that many changes of a large
    directory take memory in proportion to their number.
    """

    __slots__ = ("_changes", "_snapshots", "_ticks", "now")

    def __init__(self, tick: int, entries: dict[bytes, NodeId]) -> None:
        self.now = entries
        self._ticks = [tick]
        self._snapshots = [dict(entries)]
        self._changes: list[list[tuple[int, bytes, NodeId | None]]] = [[]]

    def set(self, tick: int, name: bytes, node: NodeId | None) -> None:
        """``node`` None: the name goes."""
        if node is None:
            del self.now[name]
        else:
            self.now[name] = node
        changes = self._changes[-1]
        changes.append((tick, name, node))
        if len(changes) > max(_FEW_CHANGES, len(self.now)):
            self._ticks.append(tick)
            self._snapshots.append(dict(self.now))
            self._changes.append([])

    def at(self, tick: int) -> dict[bytes, NodeId]:
        index = bisect_right(self._ticks, tick) - 1
        entries = dict(self._snapshots[index])
        for when, name, node in self._changes[index]:
            if when > tick:
                break
            if node is None:
                del entries[name]
            else:
                entries[name] = node
        return entries


class _Tree:
    """A tree to which effects are applied as Linux would, and which remembers every tick."""

    def __init__(self, start: Image) -> None:
        self.tick = 0
        self.totals: Final[list[int]] = []
        """Tick → sum of the terms of all nodes."""
        self._nodes: dict[NodeId, _Versions[Node]] = {}
        """Directories without their entries, which are in ``_names``."""
        self._names: dict[NodeId, _Names] = {}
        self._parents: dict[NodeId, set[tuple[NodeId, bytes]]] = {}
        self._paths: dict[NodeId, bytes | None] = {}
        """Directory → its path, as far as known; None if none leads to it."""
        self._terms: dict[NodeId, int] = {}
        self._total = 0
        root = start.nodes.get(ROOT)
        if not isinstance(root, Directory):
            raise HarnessError("the tree that a recording starts from has no directory as its root")
        self._owner: Final = root.owner
        """Of new nodes: the subject runs as whoever made the recorded directory, until a SetOwner
        says otherwise."""
        for number, node in start.nodes.items():
            self._add(number, node)
        for number, names in self._names.items():
            for name, inner in names.now.items():
                if inner not in self._nodes:
                    raise HarnessError(
                        f"the tree that a recording starts from names a node {inner} as "
                        f"{printable(name)!r}, which it does not hold"
                    )
                self._parents[inner].add((number, name))
        for number in start.nodes:
            self._touch(number)
        self.totals.append(self._total)

    def apply(self, effect: Effect) -> None:
        """Raises :class:`_ContradictionError`."""
        self.tick += 1
        match effect:
            case Create() | CreateUnnamed() | Link() | Unlink() | Rename():
                self._change_names(effect)
            case Write() | Truncate() | Allocate():
                self._change_content(effect)
            case SetMode() | SetOwner() | SetTime() | SetAttribute():
                self._change_status(effect)
            case MapShared(node):
                self._file_node(node)
            case Sync(node):
                if node is not None:
                    self._node(node)
            case Event():
                pass  # not of the tree: the timeline keeps the events
        self.totals.append(self._total)

    def image_at(self, tick: int) -> Image:
        """What could be reached from the root at ``tick``."""
        nodes: dict[NodeId, Node] = {}
        pending = [ROOT]
        while pending:
            number = pending.pop()
            if number in nodes:
                continue
            node = self.node_at(number, tick)
            if node is None:
                raise HarnessError(f"the node {number} is named before it was created")
            if isinstance(node, Directory):
                entries = self._names[number].at(tick)
                pending += entries.values()
                node = Directory(
                    mode=node.mode,
                    owner=node.owner,
                    mtime_ns=node.mtime_ns,
                    attributes=node.attributes,
                    entries=entries,
                )
            nodes[number] = node
        return Image(nodes)

    def node_at(self, number: NodeId, tick: int) -> Node | None:
        """A directory comes without its entries."""
        versions = self._nodes.get(number)
        return None if versions is None else versions.at(tick)

    def names_of(self, number: NodeId) -> tuple[bytes, ...]:
        """The paths that lead to a node now."""
        if number == ROOT:
            return (b"",)
        paths = []
        for directory, name in self._parents.get(number, ()):
            above = self._path(directory)
            if above is not None:
                paths.append(above + b"/" + name if above else name)
        return tuple(paths)

    # What the effects do.

    def _change_names(self, effect: Create | CreateUnnamed | Link | Unlink | Rename) -> None:
        match effect:
            case Create():
                self._create(effect)
            case CreateUnnamed(node, mode):
                self._create_node(node, self._file(mode))
            case Link():
                self._link(effect)
            case Unlink(directory, name):
                self._unname(directory, name)
            case Rename():
                self._rename(effect)

    def _change_content(self, effect: Write | Truncate | Allocate) -> None:
        node = self._file_node(effect.node)
        content = node.content
        match effect:
            case Write(offset=offset, data=data):
                content = content.write(offset, data)
            case Truncate(size=size):
                content = content.truncate(size)
            case Allocate(zero=True):
                content = content.zero(effect.offset, effect.length, keep_size=effect.keep_size)
            case Allocate(keep_size=False):
                content = content.allocate(effect.offset, effect.length)
            case Allocate():
                pass  # room is set aside behind the end: nothing to be read there
        self._set(effect.node, replace(node, content=content))
        self._touch(effect.node)

    def _change_status(self, effect: SetMode | SetOwner | SetTime | SetAttribute) -> None:
        node = self._node(effect.node)
        match effect:
            case SetMode(mode=mode):
                self._set(effect.node, replace(node, mode=mode & 0o7777))
                self._touch(effect.node)
            case SetOwner(user=user, group=group):
                self._set(effect.node, replace(node, owner=(user, group)))
            case SetTime(mtime_ns=mtime_ns):
                self._set(effect.node, replace(node, mtime_ns=mtime_ns))
            case SetAttribute(name=name, value=None):
                # It may be one that was never captured: only user.* is, where that is possible.
                rest = {known: kept for known, kept in node.attributes.items() if known != name}
                self._set(effect.node, replace(node, attributes=rest))
            case SetAttribute(name=name, value=bytes() as value):
                self._set(effect.node, replace(node, attributes={**node.attributes, name: value}))

    def _create(self, effect: Create) -> None:
        mode = effect.mode & 0o7777
        node: Node
        match effect.kind:
            case NodeKind.FILE:
                node = self._file(mode)
            case NodeKind.DIRECTORY:
                node = Directory(mode=mode, owner=self._owner, entries={})
            case NodeKind.SYMLINK:
                node = Symlink(mode=mode, owner=self._owner, target=effect.target)
            case NodeKind.FIFO | NodeKind.SOCKET | NodeKind.DEVICE:
                kind = effect.kind.value
                node = Special(mode=mode, owner=self._owner, kind=kind, device=effect.device)
        self._create_node(effect.node, node)
        self._name(effect.directory, effect.name, effect.node)

    def _file(self, mode: int) -> File:
        return File(mode=mode & 0o7777, owner=self._owner, content=Content.empty())

    def _create_node(self, number: NodeId, node: Node) -> None:
        if number in self._nodes:
            raise _ContradictionError(f"the node {number} is created a second time")
        self._add(number, node)

    def _link(self, effect: Link) -> None:
        node = self._node(effect.node)
        if isinstance(node, Directory):
            # Only one that had been moved out of the tree, and so has no name, can come back in.
            if effect.node == ROOT or self._parents[effect.node]:
                raise _ContradictionError("a directory gets a second name")
            self._refuse_cycle(effect.node, effect.directory)
        self._name(effect.directory, effect.name, effect.node)

    def _rename(self, effect: Rename) -> None:
        source = self._named(effect.source_directory, effect.source_name)
        target = self._entries(effect.target_directory).now.get(effect.target_name)
        if target == source:
            return  # two names of one inode: rename(2) does nothing, and both stay
        if isinstance(self._node(source), Directory):
            self._refuse_cycle(source, effect.target_directory)
        if effect.exchange:
            if target is None:
                raise _ContradictionError(
                    f"an exchange with {printable(effect.target_name)!r}, which is not there"
                )
            if isinstance(self._node(target), Directory):
                self._refuse_cycle(target, effect.source_directory)
        elif target is not None:
            self._check_replaceable(source, target, effect.target_name)
        if target is not None:
            self._unname(effect.target_directory, effect.target_name)
        self._unname(effect.source_directory, effect.source_name)
        self._name(effect.target_directory, effect.target_name, source)
        if effect.exchange and target is not None:
            self._name(effect.source_directory, effect.source_name, target)

    def _check_replaceable(self, source: NodeId, target: NodeId, name: bytes) -> None:
        onto_directory = isinstance(self._node(target), Directory)
        if isinstance(self._node(source), Directory) != onto_directory:
            raise _ContradictionError(f"{printable(name)!r} is replaced by a node of another type")
        if onto_directory and self._names[target].now:
            raise _ContradictionError(
                f"the directory {printable(name)!r} is replaced, but not empty"
            )

    def _refuse_cycle(self, number: NodeId, directory: NodeId) -> None:
        """``number``, a directory, is to come into ``directory``."""
        above: NodeId | None = directory
        while above is not None:
            if above == number:
                raise _ContradictionError("a directory is moved into itself")
            above = next((parent for parent, _ in self._parents.get(above, ())), None)

    # Nodes and names, and what is remembered of them.

    def _add(self, number: NodeId, node: Node) -> None:
        self._parents[number] = set()
        if isinstance(node, Directory):
            self._names[number] = _Names(self.tick, dict(node.entries))
            node = replace(node, entries={})
        self._nodes[number] = _Versions(self.tick, node)

    def _set(self, number: NodeId, node: Node) -> None:
        self._nodes[number].set(self.tick, node)

    def _node(self, number: NodeId) -> Node:
        versions = self._nodes.get(number)
        if versions is None:
            raise _ContradictionError(f"the node {number} was never created")
        return versions.last

    def _file_node(self, number: NodeId) -> File:
        node = self._node(number)
        if not isinstance(node, File):
            raise _ContradictionError(f"the node {number} is a {type(node).__name__}, not a file")
        return node

    def _entries(self, directory: NodeId) -> _Names:
        if not isinstance(self._node(directory), Directory):
            raise _ContradictionError(f"the node {directory} is not a directory")
        return self._names[directory]

    def _named(self, directory: NodeId, name: bytes) -> NodeId:
        found = self._entries(directory).now.get(name)
        if found is None:
            raise _ContradictionError(f"{printable(name)!r} is not there")
        return found

    def _name(self, directory: NodeId, name: bytes, number: NodeId) -> None:
        entries = self._entries(directory)
        if name in entries.now:
            raise _ContradictionError(f"{printable(name)!r} is there already")
        entries.set(self.tick, name, number)
        self._parents[number].add((directory, name))
        self._touch_below(number)

    def _unname(self, directory: NodeId, name: bytes) -> None:
        number = self._named(directory, name)
        self._names[directory].set(self.tick, name, None)
        self._parents[number].remove((directory, name))
        self._touch_below(number)

    # Paths and keys.

    def _path(self, directory: NodeId) -> bytes | None:
        if directory == ROOT:
            return b""
        unknown = []  # upwards to one whose path is known, then back down
        above = directory
        while above != ROOT and above not in self._paths:
            unknown.append(above)
            parent = next((parent for parent, _ in self._parents[above]), None)
            if parent is None:
                self._paths[above] = None
                break
            above = parent
        for number in reversed(unknown):
            if number not in self._paths:
                ((parent, name),) = self._parents[number]
                path = b"" if parent == ROOT else self._paths[parent]
                below = path + b"/" + name if path else name
                self._paths[number] = None if path is None else below
        return self._paths[directory]

    def _touch_below(self, number: NodeId) -> None:
        """A name of this node came or went: what is below a directory has other paths now."""
        if number not in self._names:
            self._touch(number)
            return
        below = []
        pending = [number]
        while pending:
            inner = pending.pop()
            below.append(inner)
            if inner in self._names:
                self._paths.pop(inner, None)
                pending += self._names[inner].now.values()
        for inner in below:
            self._touch(inner)

    def _touch(self, number: NodeId) -> None:
        """Something that counts for the key has changed."""
        now = term(self.names_of(number), self._nodes[number].last)
        self._total += now - self._terms.get(number, 0)
        self._terms[number] = now
