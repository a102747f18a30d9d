"""Names of one moment that can be changed a little, looked at, and changed back.

The sum of the terms of all nodes (see :mod:`pytest_checkpoint.tree.compare`) is carried along, so
that thousands of choices of names are told apart without building a tree for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pytest_checkpoint.states.power_loss.changes import Slot
from pytest_checkpoint.tree.compare import term
from pytest_checkpoint.tree.image import ROOT, Node, NodeId


class Namespace:
    """What names lead to, and the sum of terms that goes with it."""

    def __init__(
        self, node_now: Callable[[NodeId], Node | None], directories: Iterable[NodeId]
    ) -> None:
        """``node_now``: what a node is at the moment; see :meth:`refresh`."""
        self._node_now: Final = node_now
        self._entries: Final[dict[NodeId, dict[bytes, NodeId]]] = {
            number: {} for number in directories
        }
        self._parents: dict[NodeId, set[Slot]] = {}
        self._paths: dict[NodeId, bytes | None] = {}
        self._terms: dict[NodeId, int] = {}
        self._touched: set[NodeId] = {ROOT}
        self._total = 0

    def put(self, slot: Slot, child: NodeId | None) -> NodeId | None:
        """The name leads to ``child`` from now on; returns what it led to."""
        directory, name = slot
        entries = self._entries[directory]
        before = entries.get(name)
        if before == child:
            return before
        if before is not None:
            del entries[name]
            self._parents[before].discard(slot)
            self._touch(before)
        if child is not None:
            entries[name] = child
            self._parents.setdefault(child, set()).add(slot)
            self._touch(child)
        return before

    def refresh(self, number: NodeId) -> None:
        """The node is another than before."""
        self._touched.add(number)

    def total(self) -> int:
        """The sum of the terms of all nodes, as they are now."""
        self._settle()
        return self._total

    def entries(self, directory: NodeId) -> dict[bytes, NodeId]:
        """Not to be changed."""
        return self._entries[directory]

    def is_named(self, number: NodeId) -> bool:
        """Whether any name leads to it, be it in a directory that cannot be reached."""
        return bool(self._parents.get(number))

    def paths(self, number: NodeId) -> tuple[bytes, ...]:
        """All paths that lead to a node, in any order."""
        if number == ROOT:
            return (b"",)
        found = []
        for directory, name in self._parents.get(number, ()):
            above = self._path(directory)
            if above is not None:
                found.append(above + b"/" + name if above else name)
        return tuple(found)

    def term(self, number: NodeId) -> int:
        """What a node adds to the sum."""
        self._settle()
        return self._terms.get(number, 0)

    def _settle(self) -> None:
        for number in self._touched:
            node = self._node_now(number)
            now = 0 if node is None else term(self.paths(number), node)
            self._total += now - self._terms.get(number, 0)
            self._terms[number] = now
        self._touched.clear()

    def _touch(self, number: NodeId) -> None:
        """A name of it came or went: what is below a directory has other paths now."""
        if number not in self._entries:
            self._touched.add(number)
            return
        pending = [number]
        below: set[NodeId] = set()
        while pending:
            inner = pending.pop()
            if inner not in below:  # names that no crash leaves may lead in circles
                below.add(inner)
                self._paths.pop(inner, None)
                pending += self._entries.get(inner, {}).values()
        self._touched |= below

    def _path(self, directory: NodeId) -> bytes | None:
        """None if it cannot be reached from the root."""
        if directory == ROOT:
            return b""
        if directory in self._paths:
            return self._paths[directory]
        self._paths[directory] = None  # also where the way up leads in a circle
        for above, name in self._parents.get(directory, ()):
            parent = self._path(above)
            if parent is not None:
                self._paths[directory] = parent + b"/" + name if parent else name
        return self._paths[directory]
