"""Whether a tree is among all that a model allows: a search, and no enumeration.

Names and data are independent, so each file's bytes are judged on their own (see
:meth:`~.data.Window.explains`). For the names, each one in question is a variable. It may be as
the last of any kept change on it left it: that change is then kept, and every later one on the
name is dropped. Names are settled one by one, from the root down and those with the fewest ways
first; a way that contradicts what was decided about a change before is no way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_checkpoint.states.power_loss.changes import Slot
from pytest_checkpoint.states.power_loss.choices import START
from pytest_checkpoint.states.power_loss.cursor import Cursor
from pytest_checkpoint.states.power_loss.models import Rules
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


class _Way(NamedTuple):
    """How a name may have come to lead to ``child``."""

    child: NodeId | None
    kept: frozenset[int]
    dropped: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Partial:
    """What was decided so far."""

    verdicts: Mapping[int, bool]
    """Change → whether it is kept."""
    seen_as: Mapping[NodeId, NodeId]
    """Node of the recording → node of the tree that is judged."""
    stands_for: Mapping[NodeId, NodeId]
    """The other way round."""
    open: tuple[Slot, ...]
    """Names yet to be settled."""


class Membership:
    """The trees that one model allows after one step."""

    def __init__(self, cursor: Cursor, step: int, rules: Rules) -> None:
        """``cursor``: at that step."""
        self._cursor: Final = cursor
        self._slots: Final = cursor.slots
        self._step: Final = step
        self._rules: Final = rules

    def refusal(self, image: Image) -> str | None:
        """None if the tree is allowed; else why not."""
        root = image.nodes.get(ROOT)
        if not isinstance(root, Directory):
            return "the tree has no directory as its root"
        search = _Search(self, image)
        pending = [change.index for change in self._cursor.names()]
        if not self._rules.in_order:
            return None if search.succeeds({}) else search.reason()
        for count in range(len(pending), -1, -1):
            if search.succeeds({index: i < count for i, index in enumerate(pending)}):
                return None
        return search.reason()

    def ways(self, slot: Slot, verdicts: Mapping[int, bool]) -> Iterator[_Way]:
        """All that the name may lead to, given what was decided before."""
        later: set[int] = set()
        for index, child in self._slots.entries(slot, self._step):
            if verdicts.get(index) is not False:
                yield from self._ways_by(slot, index, child, frozenset(later), verdicts)
            if self._is_durable(index) or verdicts.get(index):
                return
            later.add(index)
        yield _Way(None, frozenset(), frozenset(later))

    def _ways_by(
        self,
        slot: Slot,
        index: int,
        child: NodeId | None,
        later: frozenset[int],
        verdicts: Mapping[int, bool],
    ) -> Iterator[_Way]:
        kept = frozenset() if self._is_durable(index) else frozenset({index})
        others: list[int] = []
        if child is not None:
            others = self._slots.other_names(child, index, slot, self._step)
        if not any(self._is_durable(other) for other in others):
            way = _Way(child, kept, later | frozenset(others))
            if self._fits(way, verdicts):
                yield way
        # A directory has one name: with a later one kept, this one is gone.
        for other in others:
            way = _Way(None, kept | ({other} if not self._is_durable(other) else set()), later)
            if self._fits(way, verdicts):
                yield way

    def _fits(self, way: _Way, verdicts: Mapping[int, bool]) -> bool:
        return (
            not way.kept & way.dropped
            and all(verdicts.get(index, True) for index in way.kept)
            and not any(verdicts.get(index, False) for index in way.dropped)
        )

    def _is_durable(self, index: int) -> bool:
        return index == START or self._slots.changes[index].durable_at <= self._step

    def names_in(self, directory: NodeId) -> list[bytes]:
        return self._slots.names.get(directory, [])

    def unlike(self, number: NodeId, found: Node) -> str | None:
        """Why a node of the recording cannot have come out as ``found``; None if it can."""
        node = self._cursor.node(number)
        if type(node) is not type(found):
            return "it is of another type"
        if isinstance(node, Symlink) and isinstance(found, Symlink):
            return None if node.target == found.target else "it leads elsewhere"
        if isinstance(node, Special) and isinstance(found, Special):
            same = (node.kind, node.device) == (found.kind, found.device)
            if not same:
                return "it is of another type"
        if isinstance(node, File) and isinstance(found, File):
            window = self._cursor.data().get(number)
            size = found.content.size
            if window is None and node.content != found.content:
                return f"its data was synced, but it differs ({size} bytes)"
            if window is not None and not window.explains(found.content):
                return f"no combination of its unsynced writes leaves these {size} bytes"
        if found.mode not in self._cursor.modes(number):
            return f"it never had the mode {found.mode:04o}"
        return None


class _Search:
    """One tree, held against the names of one step."""

    def __init__(self, membership: Membership, image: Image) -> None:
        self._membership: Final = membership
        self._image: Final = image
        self._unlike: dict[tuple[NodeId, NodeId], str | None] = {}
        self._deepest = ""
        self._fewest_open = -1

    def reason(self) -> str:
        """Where the search got furthest, in words."""
        return self._deepest or "no choice of the unsynced name changes gives these names"

    def succeeds(self, verdicts: Mapping[int, bool]) -> bool:
        """Whether the tree can be explained with these decisions about changes."""
        reasons: list[str] = []
        root = self._image.nodes[ROOT]
        empty = _Partial(verdicts, {ROOT: ROOT}, {ROOT: ROOT}, ())
        start = self._entered(empty, ROOT, root, reasons)
        if start is None:
            self._deepest = reasons[0]
        return start is not None and self._solve(start)

    def _solve(self, start: _Partial) -> bool:
        stack = [iter([start])]
        while stack:
            partial = next(stack[-1], None)
            if partial is None:
                stack.pop()
            elif not partial.open:
                return True
            else:
                stack.append(iter(self._successors(partial)))
        return False

    def _successors(self, partial: _Partial) -> list[_Partial]:
        """The ways to settle the open name that has the fewest."""
        best: list[_Partial] | None = None
        for slot in partial.open:
            found = self._settled(partial, slot)
            if best is None or len(found) < len(best):
                best = found
            if len(best) < 2:
                break
        return best or []

    def _settled(self, partial: _Partial, slot: Slot) -> list[_Partial]:
        directory, name = slot
        here = self._image.nodes[partial.seen_as[directory]]
        assert isinstance(here, Directory)
        seen = here.entries.get(name)
        found: dict[tuple[object, ...], _Partial] = {}
        reasons: list[str] = []
        for way in self._membership.ways(slot, partial.verdicts):
            verdicts = dict(partial.verdicts)
            verdicts.update(dict.fromkeys(way.kept, True))
            verdicts.update(dict.fromkeys(way.dropped, False))
            rest = tuple(other for other in partial.open if other != slot)
            after = _Partial(verdicts, partial.seen_as, partial.stands_for, rest)
            matched = self._matched(after, way.child, seen, reasons)
            if matched is not None:
                found.setdefault((way.kept, way.dropped, way.child), matched)
        if not found and len(partial.seen_as) > self._fewest_open:
            self._fewest_open = len(partial.seen_as)
            shown = printable(name)
            stands = "something" if seen is not None else "nothing"
            why = "; ".join(dict.fromkeys(reasons)) or f"{stands} stands there, which cannot be"
            self._deepest = f"{shown}: {why}"
        return list(found.values())

    def _matched(
        self, partial: _Partial, child: NodeId | None, seen: NodeId | None, reasons: list[str]
    ) -> _Partial | None:
        """With the name leading to ``child``, given that the tree has ``seen`` there."""
        if child is None or seen is None:
            if child is None and seen is None:
                return partial
            reasons.append("it should not be there" if child is None else "it is missing")
            return None
        if child in partial.seen_as or seen in partial.stands_for:
            if partial.seen_as.get(child) == seen and partial.stands_for.get(seen) == child:
                return partial
            reasons.append("its links are others")
            return None
        found = self._image.nodes[seen]
        pair = (child, seen)
        if pair not in self._unlike:
            self._unlike[pair] = self._membership.unlike(child, found)
        unlike = self._unlike[pair]
        if unlike is not None:
            reasons.append(unlike)
            return None
        after = _Partial(
            partial.verdicts,
            {**partial.seen_as, child: seen},
            {**partial.stands_for, seen: child},
            partial.open,
        )
        return self._entered(after, child, found, reasons)

    def _entered(
        self, partial: _Partial, child: NodeId, found: Node, reasons: list[str]
    ) -> _Partial | None:
        """With the names in a directory opened; None if one of the tree never was there."""
        if not isinstance(found, Directory):
            return partial
        names = self._membership.names_in(child)
        strange = sorted(found.entries.keys() - set(names))
        if strange:
            reasons.append(f"nothing in it was ever called {printable(strange[0])}")
            return None
        opened = tuple((child, name) for name in names)
        return _Partial(
            partial.verdicts, partial.seen_as, partial.stands_for, (*partial.open, *opened)
        )
