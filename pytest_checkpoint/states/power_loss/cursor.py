"""One step of a recording: what is pending there, and what each choice of names makes of the tree.

Going to a neighbouring step costs what changed between them, so all steps in a row are cheap, and
any one is at hand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from pytest_checkpoint.states.power_loss.changes import NEVER, NameChange, Slot
from pytest_checkpoint.states.power_loss.choices import Kept, SlotHistory
from pytest_checkpoint.states.power_loss.data import Window
from pytest_checkpoint.states.power_loss.ledger import Ledger
from pytest_checkpoint.states.power_loss.namespace import Namespace
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import term
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, NodeId


class Named(NamedTuple):
    """An inode with unsynced data, where a choice of names leads to it."""

    paths: tuple[bytes, ...]
    term: int
    """What it adds to the sum of terms with all its data kept."""


class View(NamedTuple):
    """The tree that a choice of names gives, with all data kept."""

    total: int
    """The sum of the terms of its nodes."""
    unsynced: Mapping[NodeId, Named]


class Cursor:
    """A place in a recording. Everything that it says is of the step it was last moved to."""

    def __init__(self, start: Image, timeline: Timeline, ledger: Ledger) -> None:
        self.slots: Final = SlotHistory(start, ledger)
        self._timeline: Final = timeline
        self._ledger: Final = ledger
        self._step = 0
        self._moves = _Moves(ledger)
        self._complete = self._namespace()
        """With all names kept."""
        self._settled = self._namespace()
        """With the durable names only."""
        self._pending_names: set[int] = set()
        self._pending_data: dict[NodeId, int] = defaultdict(int)
        """Inode → how many of its changes are pending."""
        self._windows: dict[NodeId, tuple[object, Window]] = {}
        self._names: list[NameChange] | None = None
        self._data: dict[NodeId, Window] | None = None
        for directory, names in self.slots.names.items():
            for name in names:
                slot = (directory, name)
                value = self.slots.value(slot, 0, frozenset())
                self._complete.put(slot, value)
                self._settled.put(slot, value)

    # What is pending.

    def names(self) -> list[NameChange]:
        """The name changes that may be lost, in program order."""
        if self._names is None:
            self._names = self.slots.visible(self._pending_names, self._step)
        return self._names

    def data(self) -> Mapping[NodeId, Window]:
        """The inodes whose content may be lost, in the order of their first such change.

        Those are left out that no choice of names leads to.
        """
        if self._data is None:
            named = {number for change in self.names() for number in change.slots.values()}
            windows = {
                number: self._window(number)
                for number, count in self._pending_data.items()
                if count
                and (
                    number in named
                    or self._settled.is_named(number)
                    or self._complete.is_named(number)
                )
            }
            order = sorted(windows, key=lambda number: (windows[number].pending[0].step, number))
            self._data = {number: windows[number] for number in order}
        return self._data

    def node(self, number: NodeId) -> Node | None:
        """As it is with everything kept; a directory without its entries."""
        return self._timeline.history.node_at(number, self._timeline.tick_after(self._step))

    def modes(self, number: NodeId) -> set[int]:
        """All that a node has had so far."""
        versions = self._timeline.history.versions(number, self._timeline.tick_after(self._step))
        return {node.mode for node in versions}

    def file_term(self, number: NodeId, paths: Sequence[bytes], content: Content) -> int:
        """What an inode adds to the sum of terms if that is its content."""
        node = self.node(number)
        return term(paths, File(mode=node.mode, content=content)) if node else 0

    # What a choice gives.

    def view(self, kept: Kept) -> View:
        """With these of :meth:`names` kept, by their index, and all data."""
        with self._chosen(kept) as namespace:
            total = namespace.total()
            paths = {number: namespace.paths(number) for number in self.data()}
            unsynced = {
                number: Named(names, namespace.term(number))
                for number, names in paths.items()
                if names
            }
        return View(total, unsynced)

    def image(self, kept: Kept, contents: Mapping[NodeId, Content]) -> Image:
        """The tree with these names kept, and these contents in place of those as written."""
        nodes: dict[NodeId, Node] = {}
        with self._chosen(kept) as namespace:
            pending = [ROOT]
            while pending:
                number = pending.pop()
                node = self.node(number)
                if number in nodes or node is None:
                    continue
                if isinstance(node, Directory):
                    entries = dict(namespace.entries(number))
                    pending += entries.values()
                    node = replace(node, entries=entries)
                elif isinstance(node, File) and number in contents:
                    node = replace(node, content=contents[number])
                nodes[number] = node
        return Image(nodes)

    @contextmanager
    def _chosen(self, kept: Kept) -> Iterator[Namespace]:
        """The names of one choice, from whichever side is nearer; put back afterwards."""
        names = self.names()
        dropped = [change for change in names if change.index not in kept]
        from_all = 2 * len(dropped) <= len(names)
        namespace = self._complete if from_all else self._settled
        differing = dropped if from_all else [one for one in names if one.index in kept]
        undone: list[tuple[Slot, NodeId | None]] = []
        # In a fixed order: terms are summed, but whoever debugs this wants the same each time.
        for slot in sorted(self.slots.affected(differing)):
            value = self.slots.value(slot, self._step, kept)
            undone.append((slot, namespace.put(slot, value)))
        try:
            yield namespace
        finally:
            for slot, value in reversed(undone):
                namespace.put(slot, value)

    # Moving.

    def seek(self, step: int) -> None:
        """Go to the moment after ``step``."""
        if step == self._step:
            return
        forward = step > self._step
        steps = range(self._step + 1, step + 1) if forward else range(step + 1, self._step + 1)
        self._step = step
        self._names = self._data = None
        sign = 1 if forward else -1
        for passed in steps:
            for number, count in self._moves.data.get(passed, ()):
                self._pending_data[number] += sign * count
        made = [change for passed in steps for change in self._moves.made.get(passed, ())]
        settled = [change for passed in steps for change in self._moves.settled.get(passed, ())]
        for change in (*made, *settled):
            if change.step <= step < change.durable_at:
                self._pending_names.add(change.index)
            else:
                self._pending_names.discard(change.index)
        for slot in sorted(self.slots.affected(made)):
            self._complete.put(slot, self.slots.value(slot, step, None))
        for slot in sorted(self.slots.affected(settled)):
            self._settled.put(slot, self.slots.value(slot, step, frozenset()))
        for number in {number for passed in steps for number in self._moves.nodes.get(passed, ())}:
            self._complete.refresh(number)
            self._settled.refresh(number)

    def _namespace(self) -> Namespace:
        return Namespace(self.node, self._ledger.directories)

    def _window(self, number: NodeId) -> Window:
        changes = self._ledger.data[number]
        count = bisect_right(changes, self._step, key=lambda change: change.step)
        first = next(i for i, change in enumerate(changes) if change.durable_at > self._step)
        durable = tuple(change.durable_at <= self._step for change in changes[first:count])
        known = self._windows.get(number)
        if known is not None and known[0] == (first, durable):
            return known[1]
        base = changes[first - 1].content if first else self._ledger.first_contents[number]
        window = Window(base, changes[first:count], self._step)
        self._windows[number] = ((first, durable), window)
        return window


class _Moves:
    """What each step changes, for going from one to the next."""

    def __init__(self, ledger: Ledger) -> None:
        self.made: Final[dict[int, list[NameChange]]] = defaultdict(list)
        self.settled: Final[dict[int, list[NameChange]]] = defaultdict(list)
        self.data: Final[dict[int, list[tuple[NodeId, int]]]] = defaultdict(list)
        self.nodes: Final = ledger.changed_nodes
        for change in ledger.names:
            self.made[change.step].append(change)
            if change.durable_at != NEVER:
                self.settled[change.durable_at].append(change)
        for number, changes in ledger.data.items():
            for one in changes:
                self.data[one.step].append((number, 1))
                if one.durable_at != NEVER:
                    self.data[one.durable_at].append((number, -1))
