"""Where a second start comes, where the owner of a workspace dies, and how that is called.

``12.second-start-after``: the first stands right after its operation 12;
``12.second-start-before``: right before it is carried out, with all that it has looked at before.
``12.second-resume-after``: the second is the resume command, where that is another than the run.
``1.late-start``: a start is put aside before the first operation of the run, goes on when another
has taken the workspace and stands in its turn, and so is the second though it began before.
``0.same-instant-3``; ``12.dead-holder``; ``12.number-reused``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from checkpoint_contracts.evidence import CrashPoint, TrialKind
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.faults import injectable
from pytest_checkpoint.record.operations import WORKSPACE, Operation
from pytest_checkpoint.states.order import spread

KINDS: Final = (
    TrialKind.SECOND_START,
    TrialKind.SAME_INSTANT,
    TrialKind.DEAD_HOLDER,
    TrialKind.NUMBER_REUSED,
)
AT_ONCE: Final = 5
"""How often both are started at the same instant."""
MOST_DEATHS: Final = {TrialKind.DEAD_HOLDER: 4, TrialKind.NUMBER_REUSED: 2}
"""Trials in which the owner dies, unless all are wanted."""
_MOST_SECOND: Final = 8
"""Trials with a second start, unless all are wanted."""
_BEGINNINGS: Final = 3
"""A lock is taken with the first operations: around so many of them the first stands."""
_SECOND: Final = re.compile(r"second-(start|resume)-(after|before)")
_INSTANT: Final = re.compile(r"same-instant-([1-9]\d*)")
_SIGNATURES: Final = {
    TrialKind.SECOND_START: "a second start",
    TrialKind.SAME_INSTANT: "two starts at the same instant",
    TrialKind.DEAD_HOLDER: "a dead owner",
    TrialKind.NUMBER_REUSED: "a dead owner whose number is another's",
}
"""One flaw at all operations is one cause."""

Side = Literal["after", "before", "late"]
LATE: Final = "late-start"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPair:
    kind: TrialKind
    point: CrashPoint
    side: Side = "after"
    """Of its operation the first stands there; late: there the second is put aside."""
    stands: int = 0
    """Of a late second: the step of its own at which the first stands."""
    resumes: bool = False
    """The second is the resume command."""


def planned(
    operations: Sequence[Operation],
    kind: TrialKind,
    *,
    two_commands: bool,
    exhaustive: bool,
    most: int = sys.maxsize,
) -> list[PlannedPair]:
    """Those of one kind, in the order in which to try them; not more than ``most``, where sampled.

    ``two_commands``: the resume is another command than the run.
    """
    found = _planned(operations, kind, two_commands=two_commands, exhaustive=exhaustive)
    return found if exhaustive else found[:most]


def _planned(
    operations: Sequence[Operation], kind: TrialKind, *, two_commands: bool, exhaustive: bool
) -> list[PlannedPair]:
    steps = [one.step for one in operations]
    match kind:
        case TrialKind.SAME_INSTANT:
            return [_at_once(operations, number) for number in range(1, AT_ONCE + 1)]
        case TrialKind.SECOND_START:
            places = list(_all(operations) if exhaustive else _sample(operations))
            found = [_second(operations, step, side) for step, side in places]
            found[1:1] = _late(operations)
            if two_commands:
                half = places if exhaustive else places[: len(places) // 2]
                found += [_second(operations, step, side, resumes=True) for step, side in half]
            return found
        case _:
            sample = _deaths if kind is TrialKind.DEAD_HOLDER else _within
            few = steps if exhaustive else sample(operations)[: MOST_DEATHS[kind]]
            return [_death(operations, kind, step) for step in few]


def _all(operations: Sequence[Operation]) -> Iterator[tuple[int, Side]]:
    for one in operations:
        yield one.step, "after"
        if injectable(one):
            yield one.step, "before"


def _sample(operations: Sequence[Operation]) -> Iterator[tuple[int, Side]]:
    """Within stages, before and after the first operations, and before some in between."""
    inside = _inside(operations)
    within: list[tuple[int, Side]] = [(step, "after") for step in _within(operations)]
    before: list[tuple[int, Side]] = [(step, "before") for step in inside[:_BEGINNINGS]]
    after: list[tuple[int, Side]] = [(step, "after") for step in inside[:_BEGINNINGS]]
    later: list[tuple[int, Side]] = [
        (inside[index], "before") for index in spread(len(inside))[1:3]
    ]
    order = [
        *(*within[:1], *before[:1], *after[:1], *later[1:]),
        *(*before[1:2], *within[1:2], *later[:1], *before[2:], *after[1:], *within[2:]),
    ]
    return iter(list(dict.fromkeys(order))[:_MOST_SECOND])


def _deaths(operations: Sequence[Operation]) -> list[int]:
    """While the work goes on, and right after the first operations: a lock file half made."""
    within, inside = _within(operations), _inside(operations)
    order = [*within[:1], *inside[:2], *within[1:]]
    return list(dict.fromkeys(order))


def _within(operations: Sequence[Operation]) -> list[int]:
    """First, last, middle start line; where there is none, of all operations the middle first."""
    starts = [one.step for one in operations if one.is_event and b"start " in _data(one)]
    if starts:
        return [starts[index] for index in spread(len(starts))[:3]]
    steps = [one.step for one in operations]
    middle = steps[len(steps) // 2]
    return list(dict.fromkeys((middle, steps[-1], steps[len(steps) // 4])))


def _data(operation: Operation) -> bytes:
    return b"".join(getattr(effect, "data", b"") for effect in operation.effects)


def _inside(operations: Sequence[Operation]) -> list[int]:
    """The operations on the workspace that can be kept waiting."""
    return [one.step for one in operations if injectable(one) and _is_inside(one)]


def _is_inside(operation: Operation) -> bool:
    return operation.path.startswith(WORKSPACE + b"/")


def find(operations: Sequence[Operation], step: int, variant: str) -> PlannedPair | None:
    """The one of this name; None: there is none such."""
    instant = _INSTANT.fullmatch(variant)
    if instant is not None:
        return _at_once(operations, int(instant[1])) if step == 0 else None
    if not 1 <= step <= len(operations):
        return None
    if variant == LATE:
        return next((one for one in _late(operations) if one.point.step == step), None)
    second = _SECOND.fullmatch(variant)
    if second is not None:
        side: Side = "after" if second[2] == "after" else "before"
        return _second(operations, step, side, resumes=second[1] == "resume")
    for kind in (TrialKind.DEAD_HOLDER, TrialKind.NUMBER_REUSED):
        if variant == kind.value:
            return _death(operations, kind, step)
    return None


def _second(
    operations: Sequence[Operation], step: int, side: Side, *, resumes: bool = False
) -> PlannedPair:
    where = f"{side} step {step} ({describe(operations[step - 1])})"
    what = "resume" if resumes else "start"
    return PlannedPair(
        kind=TrialKind.SECOND_START,
        point=_point(
            operations,
            TrialKind.SECOND_START,
            step,
            f"second-{what}-{side}",
            f"second {what} while the first stands {where}",
        ),
        side=side,
        resumes=resumes,
    )


def _late(operations: Sequence[Operation]) -> list[PlannedPair]:
    """One; none, where no operation can be put aside."""
    steps, stands = _inside(operations)[:1], _within(operations)[0]
    kind = TrialKind.SECOND_START
    found = []
    for step in steps:
        words = (
            f"a start that was put aside before step {step} ({describe(operations[step - 1])}) "
            f"goes on while another stands after step {stands} "
            f"({describe(operations[stands - 1])})"
        )
        point = _point(operations, kind, step, LATE, words)
        found.append(PlannedPair(kind=kind, point=point, side="late", stands=stands))
    return found


def _at_once(operations: Sequence[Operation], number: int) -> PlannedPair:
    kind = TrialKind.SAME_INSTANT
    words = f"two starts at the same instant (the {number}. time)"
    return PlannedPair(kind=kind, point=_point(operations, kind, 0, f"{kind}-{number}", words))


def _death(operations: Sequence[Operation], kind: TrialKind, step: int) -> PlannedPair:
    words = f"killed at step {step} ({describe(operations[step - 1])})"
    if kind is TrialKind.NUMBER_REUSED:
        words += " while another process has its number"
    return PlannedPair(kind=kind, point=_point(operations, kind, step, kind.value, words))


def _point(
    operations: Sequence[Operation], kind: TrialKind, step: int, variant: str, words: str
) -> CrashPoint:
    return CrashPoint(
        fault=kind.fault,
        step=step,
        variant=variant,
        operation=words,
        signature=_SIGNATURES[kind],
        total_steps=len(operations),
    )
