"""What each inode of a directory with a quota takes, kept up to date by the effects of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Link,
    Rename,
    SetAttribute,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.record.room.extents import Extents
from pytest_checkpoint.tree.image import Directory, File, Image, NodeId, Symlink

PAGE: Final = 4096
INODE: Final = 1024
"""tmpfs counts inodes in units of so many bytes, of which extended attributes take some."""
_ATTRIBUTE: Final = 40
"""What an extended attribute takes besides its name and value."""
_SHORT_LINK: Final = 127
"""Bytes of text that a symbolic link holds without a page."""

Ranges = Mapping[NodeId, Iterable[tuple[int, int]]]
"""File → the ranges of bytes in it that something was put into."""


def attribute_size(name: bytes, size: int) -> int:
    """What an extended attribute takes: those of users do, if they are not empty."""
    return _ATTRIBUTE + len(name) + size if size and name.startswith(b"user.") else 0


@dataclass(slots=True)
class _Holding:
    """What one inode takes."""

    extents: Extents
    size: int = 0
    """Of the file, in bytes: what was set aside behind it goes only with a truncate that cuts."""
    names: int = 0
    attributes: dict[bytes, int] = field(default_factory=dict)
    """Name → what it takes of the room for inodes."""

    @property
    def inodes(self) -> int:
        return INODE * max(1, self.names) + sum(self.attributes.values())


class Ledger:
    """What lies below ``root`` in ``image`` takes room from the beginning."""

    def __init__(
        self,
        image: Image,
        root: NodeId,
        ranges: Ranges,
        still_held: Callable[[list[NodeId]], set[NodeId]],
        *,
        sizes: Mapping[NodeId, int] | None = None,
        unit: int = PAGE,
    ) -> None:
        """``unit``: bytes that are counted at once. ``still_held``: which of these files without a
        name are open or mapped yet. ``sizes`` of files, in bytes, if ``image`` has no content.
        """
        self._unit = unit
        self._root = root
        self._still_held = still_held
        self._holdings: dict[NodeId, _Holding] = {}
        self._entries: dict[NodeId, dict[bytes, NodeId]] = {}
        self._nameless: dict[NodeId, NodeId | None] = {}
        """Files that have no name any more, or none yet → the directory that they were in last."""
        self._removed: set[NodeId] = set()
        """Directories that such files are kept in."""
        self.used = 0
        """Bytes, in whole units."""
        self.used_inodes = 0
        """In units of which an inode is :data:`INODE`."""
        self._new(root)
        self._holdings[root].names = 1
        self._take_stock(image, root, ranges, sizes or {})

    def _take_stock(
        self, image: Image, root: NodeId, ranges: Ranges, sizes: Mapping[NodeId, int]
    ) -> None:
        pending = [root]
        while pending:
            directory = pending.pop()
            self._entries[directory] = {}
            node = image.nodes[directory]
            self._set_attributes(directory, node.attributes)
            if not isinstance(node, Directory):
                continue
            for name, inner in node.entries.items():
                if inner not in self._holdings:
                    self._new(inner)
                    found = image.nodes[inner]
                    self._set_attributes(inner, found.attributes)
                    if isinstance(found, Directory):
                        pending.append(inner)
                    elif isinstance(found, Symlink):
                        self._hold(inner, 0, self.link_size(len(found.target)))
                    elif isinstance(found, File):
                        self._holdings[inner].size = sizes.get(inner, found.content.size)
                    for start, end in ranges.get(inner, ()):
                        self._hold(inner, start, end)
                self._link(directory, name, inner)

    # --- looking up ---

    def __contains__(self, node: NodeId | None) -> bool:
        """Whether an inode is one of those that the quota is for."""
        return node in self._holdings

    def has_name(self, node: NodeId | None) -> bool:
        holding = None if node is None else self._holdings.get(node)
        return holding is not None and holding.names > 0

    def lacking(self, node: NodeId | None, start: int, end: int) -> int:
        """How many more bytes it would take with this range whole; 0 for what does not count."""
        holding = None if node is None else self._holdings.get(node)
        return 0 if holding is None else holding.extents.lacking(start, end)

    def reach(self, node: NodeId, start: int, end: int, room: int) -> int:
        """How far a write from ``start`` towards ``end`` comes with ``room`` more bytes."""
        return self._holdings[node].extents.reach(start, end, max(0, room))

    def link_size(self, length: int) -> int:
        """What a symbolic link with so long a text takes."""
        if self._unit == 1:
            return length
        return PAGE if length > _SHORT_LINK else 0

    def held_below(self, path: Iterable[bytes]) -> int:
        """Bytes in what lies below a directory of these names from the root on; 0: it is not there.

        Each inode once. Not counted is what has lost its name there, though it may be open.
        """
        node = self._root
        for name in path:
            inner = self._entries.get(node, {}).get(name)
            if inner is None:
                return 0
            node = inner
        found: set[NodeId] = set()
        pending = [node]
        while pending:
            for inner in self._entries.get(pending.pop(), {}).values():
                if inner not in found:
                    found.add(inner)
                    pending.append(inner)
        return sum(self._holdings[one].extents.size for one in found)

    # --- following what happens ---

    def after(self, effects: Iterable[Effect], *, unnamed: bool) -> None:
        """Follow one step; ``unnamed``: a file made without a name counts."""
        for effect in effects:
            self._apply(effect, unnamed=unnamed)

    def _apply(self, effect: Effect, *, unnamed: bool) -> None:
        match effect:
            case Write(node, offset, data):
                self._hold(node, offset, offset + len(data))
                self._grow(node, offset + len(data))
            case Truncate(node, size):
                self._resize(node, size)
            case Allocate(node, offset, length, zero=True):
                self._give_back(node, offset, offset + length)
            case Allocate(node, offset, length):
                self._hold(node, offset, offset + length)
                if not effect.keep_size:
                    self._grow(node, offset + length)
            case CreateUnnamed(node) if unnamed:
                self._new(node)
                self._nameless[node] = None
            case SetAttribute(node, name, value) if node in self:
                self._set_attribute(node, name, b"" if value is None else value)
            case Create() | Link() | Unlink() | Rename():
                self._apply_to_names(effect)
            case _:
                return

    def _apply_to_names(self, effect: Create | Link | Unlink | Rename) -> None:
        match effect:
            case Create(directory, name, node, kind, _, target) if directory in self._entries:
                self._new(node)
                if kind == "directory":
                    self._entries[node] = {}
                self._hold(node, 0, self.link_size(len(target)))
                self._link(directory, name, node)
            case Link(directory, name, node) if directory in self._entries and node in self:
                self._link(directory, name, node)
            case Unlink(directory, name) if name in self._entries.get(directory, {}):
                self._unlink(directory, name)
            case Rename():
                self._rename(effect)
            case _:
                return

    def _new(self, node: NodeId) -> None:
        holding = self._holdings[node] = _Holding(Extents(self._unit))
        self.used_inodes += holding.inodes

    def _hold(self, node: NodeId, start: int, end: int) -> None:
        holding = self._holdings.get(node)
        if holding is not None:
            self.used += holding.extents.add(start, end)

    def _give_back(self, node: NodeId, start: int, end: int | None) -> None:
        holding = self._holdings.get(node)
        if holding is not None:
            self.used -= holding.extents.remove(start, end)

    def _grow(self, node: NodeId, size: int) -> None:
        holding = self._holdings.get(node)
        if holding is not None:
            holding.size = max(holding.size, size)

    def _resize(self, node: NodeId, size: int) -> None:
        holding = self._holdings.get(node)
        if holding is not None:
            if size <= holding.size:
                self._give_back(node, size, None)
            holding.size = size

    def _set_attributes(self, node: NodeId, attributes: Mapping[bytes, bytes]) -> None:
        for name, value in attributes.items():
            self._set_attribute(node, name, value)

    def _set_attribute(self, node: NodeId, name: bytes, value: bytes) -> None:
        holding = self._holdings[node]
        before = holding.inodes
        holding.attributes[name] = attribute_size(name, len(value))
        self.used_inodes += holding.inodes - before

    def _link(self, directory: NodeId, name: bytes, node: NodeId) -> None:
        self._entries[directory][name] = node
        self._count_names(node, 1)
        self._nameless.pop(node, None)

    def _count_names(self, node: NodeId, more: int) -> None:
        holding = self._holdings[node]
        before = holding.inodes
        holding.names += more
        self.used_inodes += holding.inodes - before

    def _unlink(self, directory: NodeId, name: bytes) -> None:
        node = self._entries[directory].pop(name)
        self._count_names(node, -1)
        if self.has_name(node):
            return
        if self._entries.pop(node, None) is None:
            self._nameless[node] = directory
        elif node in self._nameless.values():
            self._removed.add(node)
        else:
            self._forget(node)

    def _rename(self, effect: Rename) -> None:
        source = self._entries.get(effect.source_directory, {})
        target = self._entries.get(effect.target_directory, {})
        node = source.get(effect.source_name)
        replaced = target.get(effect.target_name)
        if node is None or node == replaced:  # two names of one inode: nothing happens
            return
        if replaced is not None and not effect.exchange:
            self._unlink(effect.target_directory, effect.target_name)
        del source[effect.source_name]
        if replaced is not None and effect.exchange:
            source[effect.source_name] = replaced
        target[effect.target_name] = node

    def collect(self) -> bool:
        """Give back what nameless files took that nobody holds; whether there were any."""
        if not self._nameless:
            return False
        held = self._still_held(list(self._nameless))
        freed = [node for node in self._nameless if node not in held]
        for node in freed:
            del self._nameless[node]
            self._forget(node)
        for directory in self._removed - set(self._nameless.values()):
            self._removed.remove(directory)
            self._forget(directory)
        return bool(freed)

    def _forget(self, node: NodeId) -> None:
        holding = self._holdings.pop(node)
        self.used -= holding.extents.size
        self.used_inodes -= holding.inodes
