"""Where a job may run out of room: from the start, and when it goes on after a crash."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.room.ledger import INODE, PAGE, Ledger
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.image import ROOT, Directory, File


@dataclass(frozen=True, slots=True)
class Boundary:
    """So much room for the resume after a kill at ``step`` of the recording; 0: for the run."""

    step: int
    blocks: int | None
    inodes: int | None

    def room(self, *, real: bool) -> Room:
        return Room(blocks=self.blocks, inodes=self.inodes, real=real)

    def __str__(self) -> str:
        limits = [(self.blocks, "blocks"), (self.inodes, "inodes")]
        shown = [f"{number} {what}" for number, what in limits if number is not None]
        return f"step {self.step}, {' and '.join(shown)}"


def boundaries(recording: Recording, most: int, seed: int) -> list[Boundary]:
    """Those of the run from the start, then of resumes in an order by ``seed``; ``most`` in all.

    A job that needs little has few: then both limits are set together.
    """
    timeline = Timeline(recording.start, recording.start_events, recording.operations)
    used = [_used(timeline.after(step)) for step in range(timeline.steps + 1)]
    peak = (max(blocks for blocks, _ in used), max(inodes for _, inodes in used))
    found = list(_of_step(0, used[0], peak))
    steps = list(range(1, timeline.steps + 1))
    random.Random(seed).shuffle(steps)
    for step in steps:
        if len(found) >= most:
            break
        found += _of_step(step, used[step], peak)
    for step in (0, *steps):
        if len(found) >= most:
            break
        blocks, inodes = _limits(used[step], peak)
        found += [Boundary(step, *both) for both in product(blocks, inodes)]
    return found[:most]


def _of_step(step: int, used: tuple[int, int], peak: tuple[int, int]) -> Iterator[Boundary]:
    blocks, inodes = _limits(used, peak)
    yield from (Boundary(step, number, None) for number in blocks)
    yield from (Boundary(step, None, number) for number in inodes)


def _limits(used: tuple[int, int], peak: tuple[int, int]) -> tuple[range, range]:
    """From what lies there already, up to one more than was ever needed."""
    return range(max(1, used[0]), peak[0] + 2), range(used[1], peak[1] + 2)


def _used(state: State) -> tuple[int, int]:
    """Blocks and inodes of the workspace."""
    image = state.image
    top = image.nodes[ROOT]
    if not isinstance(top, Directory):
        raise TypeError("the root of a recording is a directory")
    ranges = {
        number: [(offset, offset + len(data)) for offset, data in node.content.chunks()]
        for number, node in image.nodes.items()
        if isinstance(node, File)
    }
    ledger = Ledger(image, top.entries[WORKSPACE], ranges, lambda _: set())
    return ledger.used // PAGE, -(-ledger.used_inodes // INODE)
