"""Where some watched paths lead, followed from effect to effect.

Looked at again is only what an effect may have changed: the watched paths at or below the name that
came or went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pytest_checkpoint.record.operations import Create, Effect, Link, NodeKind, Rename, Unlink
from pytest_checkpoint.tree.image import ROOT, Directory, Image, NodeId


class Binding(NamedTuple):
    """What a name, or a whole path, leads to. Steps are 0 for what was there before the run."""

    node: NodeId
    bound_at: int
    """The step at which it came to lead there."""
    arrived_at: int | None
    """The step of the latest rename or link that brought it there; None: it was created there."""


@dataclass(slots=True)
class _Watched:
    """A place on the way to watched paths."""

    below: dict[bytes, _Watched] = field(default_factory=dict)
    path: bytes | None = None
    """If it is the end of one."""

    def paths(self) -> Iterator[bytes]:
        """All that end here or below."""
        if self.path is not None:
            yield self.path
        for inner in self.below.values():
            yield from inner.paths()


class PathsWatched:
    """Watched paths, and to what they lead by now."""

    def __init__(self, start: Image, paths: Iterable[bytes]) -> None:
        """``start``: the tree before the first effect."""
        self._top: Final = _Watched()
        self._names: Final[dict[NodeId, dict[bytes, Binding]]] = {}
        self._above: Final[dict[NodeId, tuple[NodeId, bytes]]] = {}
        """Directory → where it is named."""
        self._bindings: Final[dict[bytes, Binding]] = {}
        self._leading: Final[dict[NodeId, dict[bytes, None]]] = {}
        for number, node in start.nodes.items():
            if isinstance(node, Directory):
                self._names[number] = {
                    name: Binding(inner, 0, None) for name, inner in node.entries.items()
                }
        for number, names in self._names.items():
            for name, binding in names.items():
                if binding.node in self._names:
                    self._above[binding.node] = (number, name)
        for path in paths:
            place = self._top
            for name in path.split(b"/"):
                place = place.below.setdefault(name, _Watched())
            place.path = path
            self._look_again(path)

    def leading_to(self, number: NodeId) -> tuple[bytes, ...]:
        """The watched paths that lead to a node now."""
        return tuple(self._leading.get(number, ()))

    def binding(self, path: bytes) -> Binding | None:
        """Of a watched path; None if it leads nowhere."""
        return self._bindings.get(path)

    def apply(self, effect: Effect, step: int, *, arrives: bool) -> list[bytes]:
        """The watched paths that lead elsewhere now, or came to lead there anew.

        ``arrives``: what is created came whole, by a rename or link from outside the tree.
        """
        match effect:
            case Create(directory, name, node, kind):
                if kind is NodeKind.DIRECTORY:
                    self._names[node] = {}
                return self._name(directory, name, Binding(node, step, step if arrives else None))
            case Link(directory, name, node):
                return self._name(directory, name, Binding(node, step, step))
            case Unlink(directory, name):
                return self._unname(directory, name)
            case Rename():
                return self._rename(effect, step)
            case _:
                return []

    def _rename(self, effect: Rename, step: int) -> list[bytes]:
        source = self._names[effect.source_directory][effect.source_name].node
        target = self._names[effect.target_directory].get(effect.target_name)
        if target is not None and target.node == source:
            return []  # two names of one inode: both stay
        changed = self._unname(effect.source_directory, effect.source_name)
        if target is not None:
            changed += self._unname(effect.target_directory, effect.target_name)
        changed += self._name(
            effect.target_directory, effect.target_name, Binding(source, step, step)
        )
        if effect.exchange and target is not None:
            back = Binding(target.node, step, step)
            changed += self._name(effect.source_directory, effect.source_name, back)
        return list(dict.fromkeys(changed))

    def _name(self, directory: NodeId, name: bytes, binding: Binding) -> list[bytes]:
        self._names[directory][name] = binding
        if binding.node in self._names:
            self._above[binding.node] = (directory, name)
        return self._touch(directory, name)

    def _unname(self, directory: NodeId, name: bytes) -> list[bytes]:
        affected = self._affected(directory, name)  # before it goes: a directory knows its place
        gone = self._names[directory].pop(name)
        self._above.pop(gone.node, None)
        for path in affected:
            self._look_again(path)
        return affected

    def _touch(self, directory: NodeId, name: bytes) -> list[bytes]:
        affected = self._affected(directory, name)
        for path in affected:
            self._look_again(path)
        return affected

    def _affected(self, directory: NodeId, name: bytes) -> list[bytes]:
        """The watched paths at or below a name."""
        names = [name]
        while directory != ROOT:
            above = self._above.get(directory)
            if above is None:
                return []  # no path leads there
            directory, inner = above
            names.append(inner)
        place = self._top
        for part in reversed(names):
            found = place.below.get(part)
            if found is None:
                return []
            place = found
        return list(place.paths())

    def _look_again(self, path: bytes) -> None:
        old = self._bindings.pop(path, None)
        if old is not None:
            self._leading[old.node].pop(path)
        new = self._follow(path)
        if new is not None:
            self._bindings[path] = new
            self._leading.setdefault(new.node, {})[path] = None

    def _follow(self, path: bytes) -> Binding | None:
        number, bound_at, arrivals = ROOT, 0, []
        for name in path.split(b"/"):
            binding = self._names.get(number, {}).get(name)
            if binding is None:
                return None
            number = binding.node
            bound_at = max(bound_at, binding.bound_at)
            if binding.arrived_at is not None:
                arrivals.append(binding.arrived_at)
        return Binding(number, bound_at, max(arrivals, default=None))
