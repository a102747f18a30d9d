"""Where in a run its heartbeat is put to the test, and how that is called.

The beats come between the other operations at chance moments, so an operation is found again by
what it is (``faults.Mark``). Held, and waited for, are event lines: they come from the work. Where
there are none, operations of the main thread of the one process that makes any, on files that are
neither the heartbeat's nor ephemeral, and of which both runs have as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, TrialKind
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.faults import Identity, Mark, identity_of, mark_at
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import STORE_CALL, Event, Operation
from pytest_checkpoint.record.receiver.arrivals import ARRIVE
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.subject import Subject

KINDS: Final = (
    TrialKind.STOPPED,
    TrialKind.DEAD,
    TrialKind.REUSED,
    TrialKind.HELD,
    TrialKind.SLOW_CALLS,
    TrialKind.LOADED,
    TrialKind.CLOCK_SET,
    TrialKind.BLOCKED,
)
MOST: Final = 4
"""Trials of a kind, unless all are wanted."""
MOST_REUSED: Final = 1
_BY_THE_KIT: Final = frozenset({ARRIVE, STORE_CALL, "store"})
_WORDS: Final = {
    TrialKind.STOPPED: "stopped (SIGSTOP)",
    TrialKind.DEAD: "killed",
    TrialKind.REUSED: "killed, its number given to another process,",
    TrialKind.HELD: "a call that takes long",
    TrialKind.BLOCKED: "the work waits",
}
WHOLE_RUN: Final = {
    TrialKind.SLOW_CALLS: "every call takes longer",
    TrialKind.LOADED: "on a loaded machine",
    TrialKind.CLOCK_SET: "its wall clock is an hour behind",
}
"""Kinds of which there is one trial, of the run from its start to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWatch:
    kind: TrialKind
    point: CrashPoint
    mark: Mark | None = None
    """Where it happens; None: throughout the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A recorded run that was watched, and what came of it while it was seen to beat."""

    recording: Recording
    first_ns: int
    """Since its start; to be compared with the time of an operation …"""
    last_ns: int
    first_bytes: int
    """… and the same as the size of the events file, which is exact."""
    last_bytes: int

    def steps(self) -> set[int]:
        """The operations that came while it was seen to beat."""
        found = set()
        size = len(self.recording.start_events)
        for one in self.recording.operations:
            before = size
            size += sum(len(effect.data) for effect in one.effects if isinstance(effect, Event))
            if size > before:
                if before >= self.first_bytes and size <= self.last_bytes:
                    found.add(one.step)
            elif self.first_ns <= one.time_ns <= self.last_ns:
                found.add(one.step)
        return found


def work_of(operations: Sequence[Operation], subject: Subject) -> list[Operation]:
    """Without what is done to the heartbeat file, and to ephemeral ones, or becomes one of them.

    Nor what the kit itself has written down: an arrival, a store seen at the end.
    """
    heartbeat = subject.heartbeat
    beats = Globs([*subject.ephemeral, *([heartbeat.glob] if heartbeat and heartbeat.glob else [])])
    arriving = {
        identity_of(one).path
        for one in operations
        if one.target_path and beats.match(one.target_path)
    }
    return [
        one
        for one in operations
        if one.call not in _BY_THE_KIT
        and (
            one.is_event
            or not (
                beats.match(one.path)
                or beats.match(one.target_path)
                or identity_of(one).path in arriving
            )
        )
    ]


def is_of_one_process(operations: Sequence[Operation], subject: Subject) -> bool:
    """Whether one process does all the work, so that it is the worker."""
    return len({one.process for one in work_of(operations, subject)}) == 1


def places(operations: Sequence[Operation], seen: Seen, subject: Subject) -> list[int]:
    """The steps of the recording that come while beats are seen, in the order of the run."""
    beating, others = seen.steps(), seen.recording.operations
    marks = {mark: one.step for one, mark in _marked(operations)}
    met = {one.step: marks[mark] for one, mark in _marked(others) if mark in marks}
    if any(_is_line(one) for one in operations):
        return [
            met[one.step] for one in others if _is_line(one) and one.step in beating & met.keys()
        ]
    # Threads of their own may beat, and processes: only where there is one that cannot be.
    main = [one for one in work_of(others, subject) if one.thread == one.process]
    if len({one.process for one in main}) != 1:
        return []
    counts, counts_there = (Counter(map(identity_of, run)) for run in (operations, others))
    return [
        met[one.step]
        for one in main
        if one.step in beating & met.keys()
        and counts[identity_of(one)] == counts_there[identity_of(one)]
    ]


def _is_line(operation: Operation) -> bool:
    return any(isinstance(effect, Event) for effect in operation.effects)


def _marked(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Mark]]:
    met: Counter[Identity] = Counter()
    for one in operations:
        identity = identity_of(one)
        met[identity] += 1
        yield one, Mark(identity=identity, occurrence=met[identity])


def planned(
    operations: Sequence[Operation], kind: TrialKind, steps: Sequence[int], most: int
) -> list[PlannedWatch]:
    """Those of one kind, in the order in which to try them."""
    if kind in WHOLE_RUN:
        return [_whole_run(operations, kind)]
    return [_at(operations, kind, steps[index]) for index in spread(len(steps))[:most]]


def find(operations: Sequence[Operation], step: int, variant: str) -> PlannedWatch | None:
    """The one of this name; None: there is none such."""
    kind = next((one for one in KINDS if one.value == variant), None)
    if kind is None or not 0 <= step <= len(operations) or (kind in WHOLE_RUN) != (step == 0):
        return None
    return _whole_run(operations, kind) if kind in WHOLE_RUN else _at(operations, kind, step)


def _at(operations: Sequence[Operation], kind: TrialKind, step: int) -> PlannedWatch:
    operation, words = operations[step - 1], _WORDS[kind]
    return PlannedWatch(
        kind=kind,
        point=CrashPoint(
            fault=kind.fault,
            step=step,
            variant=kind.value,
            operation=f"{words} at step {step} ({describe(operation)})",
            signature=f"{words} at {signature(operation)}",
            total_steps=len(operations),
        ),
        mark=mark_at(operations, step),
    )


def _whole_run(operations: Sequence[Operation], kind: TrialKind) -> PlannedWatch:
    return PlannedWatch(
        kind=kind,
        point=CrashPoint(
            fault=kind.fault,
            step=0,
            variant=kind.value,
            operation=WHOLE_RUN[kind],
            signature=WHOLE_RUN[kind],
            total_steps=len(operations),
        ),
    )
