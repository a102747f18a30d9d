"""Which combinations of losses to try after one step, and in which order.

All of them are too many. Tried are: of names, all, none, each prefix, each one dropped alone, each
one kept alone; of each inode's data, its shapes (see :class:`~.data.Kind`), with the data of all
other inodes kept or lost. First come those at which programs are known to err: everything kept,
nothing kept, names without their data, data without its names.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from pytest_checkpoint.states.kill import POWER_LOSS_PREFIX
from pytest_checkpoint.states.power_loss.choices import Kept
from pytest_checkpoint.states.power_loss.data import KEPT, LOST, ZEROS, Shape, Window, sample
from pytest_checkpoint.tree.image import NodeId

_Item = TypeVar("_Item")


class Choice(enum.StrEnum):
    """Which of the pending name changes are kept. The value is part of a loss's name."""

    KEPT = "kept"
    LOST = "lost"
    FIRST = "first"
    WITHOUT = "without"
    ONLY = "only"


class Names(NamedTuple):
    """One choice of names; ``number`` counts the pending changes of the step, from 1."""

    choice: Choice
    number: int = 0

    @property
    def code(self) -> str:
        return f"{self.choice}-{self.number}" if self.number else str(self.choice)

    def kept(self, pending: Sequence[int]) -> Kept:
        """Of the indices of the pending name changes, those that are kept."""
        match self.choice:
            case Choice.KEPT:
                return frozenset(pending)
            case Choice.LOST:
                return frozenset()
            case Choice.FIRST:
                return frozenset(pending[: self.number])
            case Choice.WITHOUT:
                return frozenset(pending) - {pending[self.number - 1]}
            case Choice.ONLY:
                return frozenset({pending[self.number - 1]})


class Data(NamedTuple):
    """What becomes of unsynced data: one inode may have a shape of its own."""

    others: Shape
    node: NodeId | None = None
    shape: Shape = KEPT
    rank: int = 0
    """Of the inode among the unsynced ones of the step, from 1."""

    @property
    def code(self) -> str:
        if self.node is None:
            return self.others.code
        rest = "" if self.others == KEPT else "-alone"
        return f"{self.rank}-{self.shape.code}{rest}"

    def shape_of(self, number: NodeId) -> Shape:
        return self.shape if number == self.node else self.others


class Loss(NamedTuple):
    """One outcome of a power loss after one step. A small tuple: there may be a million."""

    step: int
    names: Names
    data: Data
    key: bytes
    """Of the state that it leaves: see :attr:`~pytest_checkpoint.states.timeline.State.key`."""

    @property
    def variant(self) -> str:
        """Names it within its step: ``power-loss-names-without-2-data-lost``.

        The same in every run of the kit on the same recording.
        """
        return f"{POWER_LOSS_PREFIX}-names-{self.names.code}-data-{self.data.code}"


ALL_KEPT: Final = Data(KEPT)
ALL_LOST: Final = Data(LOST)
ALL_ZEROS: Final = Data(ZEROS)


def combinations(
    pending: int, windows: Sequence[tuple[NodeId, Window]], *, in_order: bool
) -> Iterator[tuple[Names, Data]]:
    """What to try, the most telling first; lazily, since few of many may be wanted.

    ``pending``: how many name changes are; ``windows``: the unsynced inodes, in program order.
    Different combinations may leave the same state.
    """
    everything = Names(Choice.KEPT)
    # What there is none of is called kept, not lost: the name of a loss says no more than is so.
    nothing = Names(Choice.LOST) if pending else everything
    lost, zeros = (ALL_LOST, ALL_ZEROS) if windows else (ALL_KEPT, ALL_KEPT)
    yield everything, ALL_KEPT
    yield nothing, lost
    yield everything, lost
    yield everything, zeros
    yield nothing, ALL_KEPT
    some = list(_some_names(pending, in_order=in_order))
    others = [*some, nothing]
    yield from _in_turn(
        ((everything, data) for data in _shapes(windows, KEPT)),
        ((choice, ALL_KEPT) for choice in some),
        ((choice, lost) for choice in some),
    )
    yield from ((everything, data) for data in _shapes(windows, LOST))
    yield from ((choice, zeros) for choice in others)
    for choice in others:
        yield from ((choice, data) for data in _shapes(windows, KEPT))
        yield from ((choice, data) for data in _shapes(windows, LOST))


def _some_names(pending: int, *, in_order: bool) -> Iterator[Names]:
    """All choices but everything and nothing, the latest changes first."""
    earlier = sample(range(pending - 1, 0, -1))
    prefixes = (Names(Choice.FIRST, number) for number in earlier)
    if in_order:
        yield from prefixes
        return
    # Without the last, or only the first, is a prefix.
    without = (Names(Choice.WITHOUT, number) for number in earlier)
    only = (Names(Choice.ONLY, number) for number in sample(range(pending, 1, -1)))
    yield from _in_turn(prefixes, without, only)


def _shapes(windows: Sequence[tuple[NodeId, Window]], others: Shape) -> Iterator[Data]:
    """Each inode with each of its shapes, the latest inode first, one shape of each in turn."""

    def of_one(rank: int, node: NodeId, window: Window) -> Iterator[Data]:
        shapes = window.shapes() if others == KEPT else chain((KEPT,), window.shapes())
        for shape in shapes:
            if shape != others:
                yield Data(others, node, shape, rank)

    yield from _in_turn(
        *(of_one(rank, *windows[rank - 1]) for rank in sample(range(len(windows), 0, -1)))
    )


def _in_turn(*sources: Iterator[_Item]) -> Iterator[_Item]:
    """One of each, again and again, until all are used up."""
    left = list(sources)
    while left:
        for source in list(left):
            try:
                yield next(source)
            except StopIteration:
                left.remove(source)
