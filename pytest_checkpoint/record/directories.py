"""Descriptors of recorded directories, kept open from call to call.

A path is resolved anew at every call, because a name on it may mean something else by then. But
what it leads to is known by its numbers, and as long as we have a directory open no other one can
have the same. So one that is open already need not be opened again.

A path that begins with the slot's own and goes on with names of recorded directories need not even
be resolved: whatever could make it mean something else is a call that is carried out here. That
holds while everybody may pass through these directories, which a look would find out.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from pytest_checkpoint.record.tracked import Identity, TrackedTree
from pytest_checkpoint.tree.image import NodeId

_MOST: Final = 64


class Known(NamedTuple):
    """A recorded directory that is open here."""

    descriptor: int
    identity: Identity
    node: NodeId


class Directories:
    """(st_dev, st_ino) → an O_PATH descriptor of that directory."""

    def __init__(self, tree: TrackedTree, top: bytes) -> None:
        """``top``: the absolute path of the recorded directory."""
        self._tree = tree
        self._top = top
        self._open: dict[Identity, int] = {}
        self._at: dict[bytes, Known] = {}
        """By path, since directories were moved or removed."""
        tree.forgets, tree.moves = self.drop, self._at.clear

    def get(self, identity: Identity) -> int | None:
        return self._open.get(identity)

    def at(self, path: bytes) -> Known | None:
        """What stands under an absolute path, where that is certain without a look."""
        known = self._at.get(path)
        if known is None and self._tree.is_passable and path.startswith(self._top):
            known = self._find(path)
        return known

    def _find(self, path: bytes) -> Known | None:
        below = path[len(self._top) :]
        node = self._tree.node_at(below[1:]) if below[:1] == b"/" else None
        identity = self._tree.identity(node) if node is not None else None
        if node is None or identity is None or not self._tree.is_directory(node):
            return None
        descriptor = self._open.get(identity)
        if descriptor is None:
            return None
        known = self._at[path] = Known(descriptor, identity, node)
        return known

    def keep(self, identity: Identity, descriptor: int) -> bool:
        """Take a descriptor over, if there is place for it."""
        if identity in self._open or len(self._open) >= _MOST:
            return False
        self._open[identity] = descriptor
        return True

    def drop(self, identity: Identity) -> None:
        """It has been removed, or has left: then we must not be who still holds it."""
        descriptor = self._open.pop(identity, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
