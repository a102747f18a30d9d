"""A tree that takes effects as Linux would, and remembers what it was.

Each effect is a *tick*; tick 0 is the tree before the first. What a node was is kept as versions by
tick, and what a directory named as snapshots with the changes between them. The key of the tree is
carried along (see :mod:`pytest_checkpoint.tree.compare`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
    Rename,
    Sent,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Stored,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.effects import changed_content, new_file, new_node
from pytest_checkpoint.states.versions import NameVersions, Versions
from pytest_checkpoint.tree.compare import term
from pytest_checkpoint.tree.image import (
    ROOT,
    Directory,
    File,
    Image,
    Node,
    NodeId,
    printable,
)


class ContradictionError(Exception):
    """An effect that the kernel could not have had; the message ends a sentence."""


class History:
    """A tree to which effects are applied as Linux would, and which remembers every tick."""

    def __init__(self, start: Image) -> None:
        self.tick = 0
        self.totals: Final[list[int]] = []
        """Tick → sum of the terms of all nodes."""
        self._nodes: dict[NodeId, Versions[Node]] = {}
        """Directories without their entries, which are in ``_names``."""
        self._names: dict[NodeId, NameVersions] = {}
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
        """Raises :class:`ContradictionError`."""
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
            case Event() | Sent() | Stored():
                pass  # not of the tree: the timeline keeps them
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

    def versions(self, number: NodeId, tick: int) -> Sequence[Node]:
        """All that the node was up to ``tick``, in order."""
        versions = self._nodes.get(number)
        return () if versions is None else versions.until(tick)

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
                self._create_node(node, new_file(mode, self._owner))
            case Link():
                self._link(effect)
            case Unlink(directory, name):
                self._unname(directory, name)
            case Rename():
                self._rename(effect)

    def _change_content(self, effect: Write | Truncate | Allocate) -> None:
        node = self._file_node(effect.node)
        content = changed_content(node.content, effect)
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
        self._create_node(effect.node, new_node(effect, self._owner))
        self._name(effect.directory, effect.name, effect.node)

    def _create_node(self, number: NodeId, node: Node) -> None:
        if number in self._nodes:
            raise ContradictionError(f"the node {number} is created a second time")
        self._add(number, node)

    def _link(self, effect: Link) -> None:
        node = self._node(effect.node)
        if isinstance(node, Directory):
            # Only one that had been moved out of the tree, and so has no name, can come back in.
            if effect.node == ROOT or self._parents[effect.node]:
                raise ContradictionError("a directory gets a second name")
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
                raise ContradictionError(
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
            raise ContradictionError(f"{printable(name)!r} is replaced by a node of another type")
        if onto_directory and self._names[target].now:
            raise ContradictionError(
                f"the directory {printable(name)!r} is replaced, but not empty"
            )

    def _refuse_cycle(self, number: NodeId, directory: NodeId) -> None:
        """``number``, a directory, is to come into ``directory``."""
        above: NodeId | None = directory
        while above is not None:
            if above == number:
                raise ContradictionError("a directory is moved into itself")
            above = next((parent for parent, _ in self._parents.get(above, ())), None)

    # Nodes and names, and what is remembered of them.

    def _add(self, number: NodeId, node: Node) -> None:
        self._parents[number] = set()
        if isinstance(node, Directory):
            self._names[number] = NameVersions(self.tick, dict(node.entries))
            node = replace(node, entries={})
        self._nodes[number] = Versions(self.tick, node)

    def _set(self, number: NodeId, node: Node) -> None:
        self._nodes[number].set(self.tick, node)

    def _node(self, number: NodeId) -> Node:
        versions = self._nodes.get(number)
        if versions is None:
            raise ContradictionError(f"the node {number} was never created")
        return versions.last

    def _file_node(self, number: NodeId) -> File:
        node = self._node(number)
        if not isinstance(node, File):
            raise ContradictionError(f"the node {number} is a {type(node).__name__}, not a file")
        return node

    def _entries(self, directory: NodeId) -> NameVersions:
        if not isinstance(self._node(directory), Directory):
            raise ContradictionError(f"the node {directory} is not a directory")
        return self._names[directory]

    def _named(self, directory: NodeId, name: bytes) -> NodeId:
        found = self._entries(directory).now.get(name)
        if found is None:
            raise ContradictionError(f"{printable(name)!r} is not there")
        return found

    def _name(self, directory: NodeId, name: bytes, number: NodeId) -> None:
        entries = self._entries(directory)
        if name in entries.now:
            raise ContradictionError(f"{printable(name)!r} is there already")
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
