"""How little room a run may have: every boundary between what setup left and what the run needed.

The recording tells what lay in the workspace after each operation, counted as the quota counts. An
operation after which there is more than ever before is the first that is refused, or cut short, for
every boundary between the two numbers.
"""

from __future__ import annotations

import errno
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import TrialKind
from checkpoint_contracts.no_space import REAL
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import WORKSPACE, CreateUnnamed, Operation
from pytest_checkpoint.record.room.ledger import INODE, PAGE, Ledger
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.tree.image import File, Image, NodeId, directory_at

SAMPLE: Final = 4
"""Boundaries at which the error is EDQUOT, unless all are wanted."""
REAL_SAMPLE: Final = 3
"""Boundaries that are tried on a real file system too."""
_EDQUOT: Final = "-edquot"


@dataclass(frozen=True, slots=True)
class Rise:
    """An operation that needs more than any before it: so many units were enough, and are."""

    operation: Operation
    enough_before: int
    enough: int

    @property
    def boundaries(self) -> range:
        """Numbers of units with which it is the first that is refused something."""
        return range(self.enough_before, self.enough)


def planned_rooms(
    recording: Recording, *, seed: int, most: int, exhaustive: bool
) -> tuple[list[PlannedFault], list[PlannedFault], int]:
    """Those that cover every operation; the others in the order in which to try them; and how many
    there are in all. ``most``: so many of the boundaries between are planned, unless all are.
    """
    rises = {"room": block_rises(recording), "inodes": inode_rises(recording)}
    needed, others = [], []
    for unit, found in rises.items():
        ordered = [found[index] for index in spread(len(found))]
        needed += [_planned(recording, unit, rise, rise.enough_before) for rise in ordered]
        others += [
            _planned(recording, unit, rise, rise.enough - 1)
            for rise in ordered
            if len(rise.boundaries) > 1
        ]
    blocks = rises["room"]
    places = [blocks[index] for index in spread(len(blocks))]
    sampled = places if exhaustive else places[:SAMPLE]
    # A file system of no blocks is none: to tmpfs it means as many as are wanted.
    real = [one for one in places if one.enough > 1][:REAL_SAMPLE]
    others = [
        *(_planned(recording, "room", one, one.enough - 1, REAL) for one in real),
        *(_planned(recording, "room", one, one.enough_before, _EDQUOT) for one in sampled),
        *others,
    ]
    # The twin of a real one is tried first.
    twins = [_planned(recording, "room", one, one.enough - 1) for one in real]
    between = [
        (unit, rise, boundary)
        for unit, found in rises.items()
        for rise in found
        for boundary in rise.boundaries[1:-1]
    ]
    random.Random(seed).shuffle(between)
    rest = [_planned(recording, *one) for one in (between if exhaustive else between[:most])]
    first = {one.point for one in needed}
    further = {one.point: one for one in (*twins, *others, *rest) if one.point not in first}
    at_boundaries = sum(len(rise.boundaries) for found in rises.values() for rise in found)
    total = at_boundaries + len(blocks) + len(real)
    return needed, list(further.values()), total


def every_room(
    recording: Recording, unit: str, *, error: int, real: bool, most: int
) -> list[tuple[PlannedFault, int]]:
    """One at every boundary of a unit, ``room`` or ``inodes``, with the step that it refuses first.

    Of more than ``most`` boundaries an even choice, the ends among them.

    On a real file system a boundary of nothing at all is left out: there is none of that size.
    """
    rises = block_rises(recording) if unit == "room" else inode_rises(recording)
    places = [(rise, one) for rise in rises for one in rise.boundaries if one > 0 or not real]
    kept = sorted(spread(len(places))[:most])
    ending = REAL if real else _EDQUOT if error == errno.EDQUOT else ""
    return [
        (_planned(recording, unit, *places[index], ending), places[index][0].operation.step)
        for index in kept
    ]


def find_room(recording: Recording, variant: str) -> PlannedFault | None:
    """The one of this variant; None: the recording has no such boundary."""
    unit, boundary, ending = _parts(variant)
    rise = _rise_of(recording, unit, boundary)
    known = ending in ("", _EDQUOT, REAL)
    return _planned(recording, unit, rise, boundary, ending) if rise and known else None


def first_refused(recording: Recording, variant: str) -> int | None:
    """The step that is the first to be refused something; None: there is none such."""
    unit, boundary, _ = _parts(variant)
    rise = _rise_of(recording, unit, boundary)
    return rise.operation.step if rise else None


def _parts(variant: str) -> tuple[str, int, str]:
    """``room-17-edquot`` → room, 17, -edquot; what is none has a boundary of -1."""
    unit, _, rest = variant.partition("-")
    number, dash, ending = rest.partition("-")
    known = unit in ("room", "inodes") and number.isascii() and number.isdigit()
    return unit, int(number) if known else -1, dash + ending


def _rise_of(recording: Recording, unit: str, boundary: int) -> Rise | None:
    rises = block_rises(recording) if unit == "room" else inode_rises(recording)
    return next((rise for rise in rises if boundary in rise.boundaries), None)


def block_rises(recording: Recording, under: bytes = WORKSPACE) -> list[Rise]:
    """In blocks of 4 KiB. ``under``: the directory that counts, as operations name it."""
    return _rises(recording, PAGE, under)


def inode_rises(recording: Recording, under: bytes = WORKSPACE) -> list[Rise]:
    return _rises(recording, INODE, under)


def _rises(recording: Recording, unit: int, under: bytes) -> list[Rise]:
    ledger = _ledger(recording, under)
    if ledger is None:
        return []

    def used() -> int:
        ledger.collect()
        return math.ceil((ledger.used if unit == PAGE else ledger.used_inodes) / unit)

    most = used()
    found: list[Rise] = []
    for operation in recording.operations:
        ledger.after(operation.effects, unnamed=operation.path.startswith(under))
        now = used()
        if now > most:
            found.append(Rise(operation, most, now))
            most = now
    return found


def _ledger(recording: Recording, under: bytes) -> Ledger | None:
    """What the quota would have counted at the start of the run; None: no such directory."""
    root = directory_at(recording.start, under)
    if root is None:
        return None
    never_named = _nameless(recording.operations)

    def still_held(nodes: list[NodeId]) -> set[NodeId]:
        # Of files that have lost their name it is not known who holds them: most often nobody.
        return {node for node in nodes if node in never_named}

    return Ledger(recording.start, root, ranges_of(recording.start), still_held)


def _nameless(operations: Sequence[Operation]) -> set[NodeId]:
    return {
        effect.node
        for operation in operations
        for effect in operation.effects
        if isinstance(effect, CreateUnnamed)
    }


def ranges_of(image: Image) -> Mapping[NodeId, list[tuple[int, int]]]:
    """Holes of files that were there before are not known: they count as full."""
    return {
        number: [(0, node.content.size)]
        for number, node in image.nodes.items()
        if isinstance(node, File)
    }


def _planned(
    recording: Recording, unit: str, rise: Rise, boundary: int, ending: str = ""
) -> PlannedFault:
    operation = rise.operation
    what = "the disk is full" if unit == "room" else "the disk has no inode left"
    if ending == _EDQUOT:
        what = "the quota is used up"
    noun = "block" if unit == "room" else "inode"
    amount = f"{boundary} {noun}{'' if boundary == 1 else 's'}"
    amount += " on a file system of its own" if ending == REAL else ""
    return PlannedFault(
        kind=TrialKind.NO_SPACE,
        point=point(
            TrialKind.NO_SPACE,
            0,
            f"{unit}-{boundary}{ending}",
            f"{what} at step {operation.step} ({describe(operation)}; {amount})",
            f"no {noun} left at {signature(operation)}",
            len(recording.operations),
        ),
        action=Room(
            blocks=boundary if unit == "room" else None,
            inodes=boundary if unit == "inodes" else None,
            error=errno.EDQUOT if ending == _EDQUOT else errno.ENOSPC,
            real=ending == REAL,
        ),
        covers="" if ending else f"{what} at step {operation.step} ({describe(operation)})",
    )
