"""What each name leads to, given which of the pending name changes a power loss kept."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Set
from typing import Final

from pytest_checkpoint.states.power_loss.changes import NameChange, Slot
from pytest_checkpoint.states.power_loss.ledger import Ledger
from pytest_checkpoint.tree.image import Directory, Image, NodeId

START: Final = -1
"""In place of a change's index: what was there before the first."""

Kept = Set[int]
"""Indices of the pending changes that are kept; durable ones are kept anyway."""


class SlotHistory:
    """Every name that there ever was, with all that it ever led to, in program order."""

    def __init__(self, start: Image, ledger: Ledger) -> None:
        self.changes: Final = ledger.names
        self._directories: Final = ledger.directories
        self._slots: dict[Slot, tuple[list[int], list[NodeId | None]]] = {}
        self._namings: dict[NodeId, list[tuple[int, Slot]]] = defaultdict(list)
        """Directory → when it got which name."""
        self.names: Final[dict[NodeId, list[bytes]]] = defaultdict(list)
        """Directory → all names that ever stood in it."""
        self._steps: Final = [change.step for change in self.changes]
        for number, node in start.nodes.items():
            if isinstance(node, Directory):
                for name, child in node.entries.items():
                    self._note(START, (number, name), child)
        for change in self.changes:
            for slot, led_to in change.slots.items():
                self._note(change.index, slot, led_to)

    def _note(self, index: int, slot: Slot, child: NodeId | None) -> None:
        known = self._slots.get(slot)
        if known is None:
            known = self._slots[slot] = ([], [])
            self.names[slot[0]].append(slot[1])
        known[0].append(index)
        known[1].append(child)
        if child in self._directories:
            self._namings[child].append((index, slot))

    def count(self, step: int) -> int:
        """How many changes had been made after ``step``."""
        return bisect_left(self._steps, step + 1)

    def entries(self, slot: Slot, step: int) -> list[tuple[int, NodeId | None]]:
        """What the name led to, and since which change, up to ``step``; the latest first."""
        indices, children = self._slots[slot]
        end = bisect_left(indices, self.count(step))
        return list(zip(indices[:end], children[:end], strict=True))[::-1]

    def other_names(self, child: NodeId, index: int, slot: Slot, step: int) -> list[int]:
        """The changes after ``index`` that gave a directory another name than ``slot``."""
        count = self.count(step)
        return [
            later
            for later, other in self._namings.get(child, ())
            if index < later < count and other != slot
        ]

    def is_kept(self, index: int, step: int, kept: Kept | None) -> bool:
        """``kept`` None: all are."""
        if index == START or kept is None or index in kept:
            return True
        return self.changes[index].durable_at <= step

    def value(self, slot: Slot, step: int, kept: Kept | None) -> NodeId | None:
        """What the name leads to: by the last kept change on it."""
        indices, children = self._slots[slot]
        place = bisect_left(indices, self.count(step)) - 1
        while place >= 0 and not self.is_kept(indices[place], step, kept):
            place -= 1
        if place < 0 or children[place] is None:
            return None
        child = children[place]
        assert child is not None
        if child in self._directories:
            later = self.other_names(child, indices[place], slot, step)
            if any(self.is_kept(index, step, kept) for index in later):
                return None  # a directory has one name: the last that it was given
        return child

    def affected(self, changes: Iterable[NameChange]) -> set[Slot]:
        """The names whose value may depend on whether these changes are kept."""
        found: set[Slot] = set()
        for change in changes:
            for slot, child in change.slots.items():
                found.add(slot)
                if child in self._directories:
                    found |= {other for _, other in self._namings[child]}
        return found

    def visible(self, pending: Iterable[int], step: int) -> list[NameChange]:
        """Those of the pending changes whose loss could be seen, in program order."""
        return [
            change
            for change in (self.changes[index] for index in sorted(pending))
            if not all(self._settled_after(slot, change.index, step) for slot in change.slots)
        ]

    def _settled_after(self, slot: Slot, index: int, step: int) -> bool:
        """Whether a later change on the name is durable: what came before it is not to be seen."""
        indices, _ = self._slots[slot]
        for place in range(bisect_left(indices, self.count(step)) - 1, -1, -1):
            if indices[place] <= index:
                return False
            if self.changes[indices[place]].durable_at <= step:
                return True
        return False
