"""Whether a run with a fault has come to it on the way that the recording shows.

Threads and processes may take turns otherwise from run to run, and be numbered otherwise. So what
each thread did is compared, and which thread of the recording it corresponds to is found out: every
thread must have done what one of the recording did, up to some place, in the same order. Where
there are several, one may have gone on for longer than in the recording with what it did there
before: a heartbeat beats more often in a slower run, a worker takes more from a queue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.faults import CLOSE, Identity, identity_of
from pytest_checkpoint.record.operations import STORE_CALL, Operation


class _Deed(NamedTuple):
    """What is compared of an operation."""

    identity: Identity
    error: int
    """It may fail naturally: as in the recording, then."""


class _Way(NamedTuple):
    """What one thread did."""

    deeds: tuple[_Deed, ...]
    operations: tuple[Operation, ...]


def drift(
    control_ops: Sequence[Operation], faulted_ops: Sequence[Operation], step: int
) -> str | None:
    """Where the two differ up to ``step`` of the faulted run, at which its fault showed.

    A sentence naming the first operation that differs; None: they do not. What the operation at
    ``step`` came to does not count, nor what comes after it.
    """
    hit = next((identity_of(one) for one in faulted_ops if one.step == step), None)
    way = [one for one in faulted_ops if one.step <= step]
    if not any(one.call == CLOSE for one in control_ops):  # they were not watched
        way = [one for one in way if one.call != CLOSE]
    control = _ways(control_ops, hit)
    left = _unmatched(_ways(way, hit), control)
    return None if left is None else _told(left, control)


def _ways(operations: Iterable[Operation], hit: Identity | None) -> list[_Way]:
    threads: dict[tuple[int, int, bytes], list[tuple[_Deed, Operation]]] = defaultdict(list)
    for operation in operations:
        if operation.call == "store":  # through a mapping: seen whenever somebody looks
            continue
        identity = identity_of(operation)
        deed = _Deed(identity, 0 if identity == hit else operation.error)
        # Who sends a request is not known: several threads may, each about objects of its own.
        about = operation.path if operation.call == STORE_CALL else b""
        threads[operation.process, operation.thread, about].append((deed, operation))
    return [
        _Way(tuple(deed for deed, _ in done), tuple(operation for _, operation in done))
        for done in threads.values()
    ]


def _unmatched(faulted: list[_Way], control: list[_Way]) -> _Way | None:
    """A thread that corresponds to none of the recording's, where each may serve one only."""
    free: dict[tuple[_Deed, ...], list[int]] = defaultdict(list)
    for place, way in enumerate(control):
        free[way.deeds].append(place)
    matching = _Matching(faulted, control)
    others = []
    for number, way in enumerate(faulted):
        if free[way.deeds]:
            matching.served[free[way.deeds].pop()] = number
        else:
            others.append(number)
    return next((faulted[number] for number in others if not matching.find(number, set())), None)


class _Matching:
    """Which thread of the recording (place) serves which of the run with the fault (number)."""

    def __init__(self, faulted: list[_Way], control: list[_Way]) -> None:
        self.served: dict[int, int] = {}
        self._faulted = faulted
        self._control = control
        self._fitting: dict[int, list[int]] = {}

    def find(self, number: int, seen: set[int]) -> bool:
        """Find it a place; another may have to move for it."""
        places = self._places(number)
        for place in places:
            if place not in self.served:
                self.served[place] = number
                return True
        for place in places:
            if place not in seen:
                seen.add(place)
                if self.find(self.served[place], seen):
                    self.served[place] = number
                    return True
        return False

    def _places(self, number: int) -> list[int]:
        if number not in self._fitting:
            done, several = self._faulted[number].deeds, len(self._control) > 1
            self._fitting[number] = [
                place
                for place, way in enumerate(self._control)
                if _fits(done, way.deeds, may_repeat=several)
            ]
        return self._fitting[number]


def _fits(done: tuple[_Deed, ...], recorded: tuple[_Deed, ...], *, may_repeat: bool) -> bool:
    common = _common(done, recorded)
    if common == len(done):
        return True
    return may_repeat and common == len(recorded) and set(done[common:]) <= set(recorded)


def _common(done: tuple[_Deed, ...], recorded: tuple[_Deed, ...]) -> int:
    """How far they are the same."""
    for number, (one, other) in enumerate(zip(done, recorded, strict=False)):
        if one != other:
            return number
    return min(len(done), len(recorded))


def _told(way: _Way, control: list[_Way]) -> str:
    nearest = max(control, key=lambda one: _common(way.deeds, one.deeds), default=None)
    common = 0 if nearest is None else _common(way.deeds, nearest.deeds)
    if common == len(way.deeds):
        first = way.operations[0]
        return (
            "this run took another course than the recording before the fault: it has one more "
            f"thread or process, whose first operation is at step {first.step} ({describe(first)})"
        )
    found = way.operations[common]
    if nearest is None or common == len(nearest.deeds):
        recorded = "nothing more of this thread"
    else:
        there = nearest.operations[common]
        recorded = f"step {there.step} ({describe(there)})"
    return (
        "this run took another course than the recording before the fault: it came to step "
        f"{found.step} ({describe(found)}), where the recording has {recorded}"
    )
