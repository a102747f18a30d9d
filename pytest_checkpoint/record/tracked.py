"""Which inodes belong to the recorded tree, and under which names they stand now.

A file is known by (st_dev, st_ino) and not by path: descriptors outlive names, names move. The
kernel reuses inode numbers, so an identity is forgotten when its last name went and a living file
outside turns up with the same numbers, and is overwritten when a new file is created.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final

from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, NodeId

Identity = tuple[int, int]
"""(st_dev, st_ino)."""

_BELOW_WORKSPACE: Final = WORKSPACE + b"/"
EVENTS: Final = b"events"
"""Name of the events file beside the workspace: watched, but not part of the tree."""
EFFECTS: Final = b"effects"
"""The same of the effects file: what has left the job."""
OBJECTS: Final = b"objects"
"""The same of the log of objects: what the object store holds. No job writes to it."""
BESIDE: Final = frozenset({EVENTS, EFFECTS, OBJECTS})
"""What lies in the recorded directory, and is not part of the tree."""


def identity_of(status: os.stat_result) -> Identity:
    return (status.st_dev, status.st_ino)


class TrackedTree:
    """Names and identities only; contents are the recording's business."""

    def __init__(
        self,
        image: Image,
        identities: dict[Identity, NodeId],
        events: Identity,
        effects: Identity | None = None,
    ) -> None:
        self._nodes = dict(identities)
        self._identities = {node: identity for identity, node in identities.items()}
        self._entries: dict[NodeId, dict[bytes, NodeId]] = {}
        self._names: dict[NodeId, set[tuple[NodeId, bytes]]] = {}
        self._last_path: dict[NodeId, bytes] = {}
        self._paths: dict[NodeId, bytes] = {ROOT: b""}
        """As far as they have been asked for since a name of theirs, or of a directory, changed."""
        self.moves: Callable[[], object] = _nothing
        """Called when directories may have other paths."""
        self.is_passable = all(map(_is_passable, image.nodes.values()))
        """Whether nothing but a missing name keeps anybody from any recorded directory."""
        self.forgets: Callable[[Identity], object] = _nothing
        """Called when a directory is no longer part of the tree."""
        self._next = max(image.nodes, default=0) + 1
        self.events = events
        self.effects = effects
        self.beside = {events, effects} - {None}
        """The files that are only appended to."""
        self.devices = {events[0], *(device for device, _ in identities)}
        """st_dev of all that is recorded: one, unless something is mounted in it."""
        self.start_modes = {
            number: node.mode for number, node in image.nodes.items() if isinstance(node, File)
        }
        for number, node in image.nodes.items():
            if isinstance(node, Directory):
                self._entries[number] = {}
        for number, node in image.nodes.items():
            if isinstance(node, Directory):
                for name, child in node.entries.items():
                    self._put(number, name, child)

    # --- looking up ---

    def directory(self, identity: Identity) -> NodeId | None:
        """The node of a recorded directory; None if it lies outside."""
        node = self._nodes.get(identity)
        return node if node in self._entries else None

    def file(self, status: os.stat_result) -> NodeId | None:
        """The node of a recorded file; None if it lies outside or only shares a reused number."""
        node = self._nodes.get((status.st_dev, status.st_ino))
        if node is None:
            return None
        if status.st_nlink and not self._names.get(node) and node != ROOT:
            self._forget(node)
            return None
        return node

    def by_identity(self, identity: Identity) -> NodeId | None:
        """The node of a recorded file known by numbers alone, as /proc/PID/maps gives them."""
        node = self._nodes.get(identity)
        return None if node in self._entries else node

    def linked(self, status: os.stat_result) -> NodeId | None:
        """The node that has just got one more name on disk; None if it was not recorded."""
        node = self._nodes.get(identity_of(status))
        if node is None or node in self._entries:
            return None
        if self._names.get(node) or status.st_nlink == 1:  # or unnamed until now (O_TMPFILE)
            return node
        return None

    def linkable(self, status: os.stat_result) -> NodeId | None:
        """The node that :meth:`linked` will find when this inode has got one more name."""
        node = self._nodes.get(identity_of(status))
        if node is None or node in self._entries:
            return None
        return node if self._names.get(node) or status.st_nlink == 0 else None

    def path(self, node: NodeId) -> bytes:
        """One path of the node, relative to the recorded directory; the last it had, if none."""
        known = self._paths.get(node)
        if known is not None:
            return known
        names = self._names.get(node)
        if not names:
            return self._last_path.get(node, b"(unnamed)")
        directory, name = min(names) if len(names) > 1 else next(iter(names))
        path = self._paths[node] = self.path_of(directory, name)
        return path

    def path_of(self, directory: NodeId, name: bytes) -> bytes:
        parent = self._paths.get(directory)
        if parent is None:
            parent = self._directory_path(directory)
        return parent + b"/" + name if parent else name

    def _directory_path(self, directory: NodeId) -> bytes:
        """Without recursion: trees may be deeper than Python recurses."""
        parts: list[bytes] = []
        current = directory
        while current not in self._paths:
            names = self._names.get(current)
            if not names:  # of one that has been removed, nothing is remembered
                return b"/".join([self._last_path.get(current, b"(unnamed)"), *reversed(parts)])
            current, name = next(iter(names))  # a directory has one
            parts.append(name)
        above = self._paths[current]
        path = b"/".join([above, *reversed(parts)] if above else reversed(parts))
        self._paths[directory] = path
        return path

    def node_at(self, path: bytes) -> NodeId | None:
        """What stands under a path, relative to the recorded directory; links are not followed."""
        node: NodeId | None = ROOT
        for name in path.split(b"/"):
            node = None if node is None else self._entries.get(node, {}).get(name)
        return node

    def holds(self, directory: NodeId, name: bytes) -> bool:
        return name in self._entries[directory]

    def is_directory(self, node: NodeId | None) -> bool:
        return node in self._entries

    def identity(self, node: NodeId) -> Identity | None:
        """Of an inode that has not gone, as far as is known."""
        return self._identities.get(node)

    def variable(self, identity: Identity) -> str:
        """The name of the environment variable that tells the job of a file beside the tree."""
        return "CHECKPOINT_EFFECTS_FILE" if identity == self.effects else "CHECKPOINT_EVENTS"

    def in_workspace(self, path: bytes) -> bool:
        return path.startswith(_BELOW_WORKSPACE) or path == WORKSPACE

    # --- following what happens ---

    def distrust(self) -> None:
        """From now on rights may keep somebody from a recorded directory."""
        self.is_passable = False
        self.moves()

    def create(
        self, directory: NodeId, name: bytes, status: os.stat_result, *, is_directory: bool
    ) -> NodeId:
        node = self._new(status)
        if is_directory:
            self._entries[node] = {}
        self._put(directory, name, node)
        return node

    def create_unnamed(self, status: os.stat_result) -> NodeId:
        return self._new(status)

    def link(self, directory: NodeId, name: bytes, node: NodeId) -> None:
        self._put(directory, name, node)

    def unlink(self, directory: NodeId, name: bytes) -> None:
        node = self._entries[directory].pop(name)
        names = self._names[node]
        if len(names) == 1:
            self._last_path[node] = self.path(node)
        names.discard((directory, name))
        self._paths.pop(node, None)
        if node in self._entries:  # a removed directory's number is free at once
            self._forget(node)

    def rename(
        self,
        source: tuple[NodeId, bytes],
        target: tuple[NodeId, bytes],
        *,
        exchange: bool,
    ) -> None:
        entries = self._entries[source[0]]
        node = entries[source[1]]
        replaced = self._entries[target[0]].get(target[1])
        if node == replaced:  # two names of one inode: rename does nothing
            return
        if node in self._entries or replaced in self._entries:
            self._forget_paths()
        if replaced is not None and not exchange:
            self.unlink(*target)
        self._move(node, source, target)
        if replaced is not None and exchange:
            self._move(replaced, target, source)
        else:
            del entries[source[1]]

    def _new(self, status: os.stat_result) -> NodeId:
        node = self._next
        self._next += 1
        identity = identity_of(status)
        previous = self._nodes.get(identity)
        if previous is not None:
            self._identities.pop(previous, None)
        self._nodes[identity] = node
        self._identities[node] = identity
        return node

    def _put(self, directory: NodeId, name: bytes, node: NodeId) -> None:
        self._entries[directory][name] = node
        names = self._names.get(node)
        if names:
            names.add((directory, name))
            self._paths.pop(node, None)
        else:
            self._names[node] = {(directory, name)}

    def _move(self, node: NodeId, old: tuple[NodeId, bytes], new: tuple[NodeId, bytes]) -> None:
        """Its old name stays where it is."""
        self._entries[new[0]][new[1]] = node
        names = self._names[node]
        names.discard(old)
        names.add(new)
        self._paths.pop(node, None)

    def _forget(self, node: NodeId) -> None:
        entries = self._entries.pop(node, None)
        for name, child in (entries or {}).items():
            self._names[child].discard((node, name))
            if child in self._entries:  # it left the tree with all that lies below
                self._forget(child)
        identity = self._identities.pop(node, None)
        if entries is not None:
            self._forget_paths()
        if identity is None:
            return
        if entries is not None:
            self.forgets(identity)
        if self._nodes.get(identity) == node:
            del self._nodes[identity]

    def _forget_paths(self) -> None:
        """A directory has another path now, or none."""
        self._paths.clear()
        self._paths[ROOT] = b""
        self.moves()


def _is_passable(node: Node) -> bool:
    if not isinstance(node, Directory):
        return True
    return node.owner[0] == os.geteuid() and bool(node.mode & stat.S_IXUSR)


def _nothing(*arguments: object) -> None: ...
