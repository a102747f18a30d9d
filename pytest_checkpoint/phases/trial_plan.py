"""Which trials there are to make of a subject, and which of them are made.

A stage trial stands at the step of the stage's first start line in the recording, a changed
pipeline at the step of each done line and at the end.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checkpoint_contracts.evidence import Coverage, CrashPoint, Reference, TrialKind
from checkpoint_contracts.stages import stage_names
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import Event
from pytest_checkpoint.states.order import spread

MOST: Final = 12
"""Trials of a kind (for each changed pipeline), unless all are wanted."""
MOST_KILLED: Final = 3
"""Each of them takes as many executions as the job has attempts."""

_WORDS: Final = {
    TrialKind.RAISES_ONCE: "stage {} raises once",
    TrialKind.RAISES_ALWAYS: "stage {} always raises",
    TrialKind.KILLED_ALWAYS: "stage {} is killed at every attempt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTrial:
    kind: TrialKind
    point: CrashPoint
    stage: str = ""
    """Of a stage trial."""
    variant: int = 0
    """Of a changed pipeline: its number, from 1."""


def possible(
    recording: Recording, reference: Reference, kinds: Collection[TrialKind], variants: int
) -> tuple[PlannedTrial, ...]:
    """Every trial of these kinds, in the order of the run; ``variants``: so many are declared."""
    lines = _lines(recording)
    total = len(recording.operations)
    found: list[PlannedTrial] = []
    for kind in TrialKind:
        if kind not in kinds or not (kind is TrialKind.CHANGED or kind in _WORDS):
            continue
        if kind is TrialKind.CHANGED:
            for number in range(1, variants + 1):
                found += _of_a_change(lines, total, number)
        else:
            found += _of_stages(lines, total, stage_names(reference.events), kind)
    return _with_distinct_ids(found)


def _of_stages(
    lines: Sequence[tuple[str, int]], total: int, stages: Sequence[str], kind: TrialKind
) -> Iterator[PlannedTrial]:
    first: dict[str, int] = {}
    for line, step in lines:
        if step:
            first.setdefault(line, step)
    for stage in stages:
        if f"start {stage}" not in first:
            continue  # setup started it: no fault of the run's can reach it
        words = _WORDS[kind]
        point = CrashPoint(
            fault=kind.fault,
            step=first[f"start {stage}"],
            variant=kind.value,
            operation=words.format(stage),
            signature=words.format("#"),  # one flaw in all stages is one cause
            total_steps=total,
        )
        yield PlannedTrial(kind=kind, point=point, stage=stage)


def _of_a_change(
    lines: Sequence[tuple[str, int]], total: int, number: int
) -> Iterator[PlannedTrial]:
    states: dict[int, str] = {}
    for line, step in lines:
        if line.startswith("done "):
            states[step] = f"'{line}'"
    states[total] = "the end"
    for step, moment in states.items():
        point = CrashPoint(
            fault=TrialKind.CHANGED.fault,
            step=step,
            variant=f"{TrialKind.CHANGED}-{number}",
            operation=f"changed pipeline {number} after {moment}",
            signature=f"changed pipeline {number}",
            total_steps=total,
        )
        yield PlannedTrial(kind=TrialKind.CHANGED, point=point, variant=number)


def _lines(recording: Recording) -> list[tuple[str, int]]:
    """The lines of the events file, each with the step that ended it; 0: it was there before."""
    found: list[tuple[str, int]] = []
    *before, unfinished = recording.start_events.split(b"\n")
    found += [(_text(line), 0) for line in before]
    for operation in recording.operations:
        data = b"".join(one.data for one in operation.effects if isinstance(one, Event))
        *ended, unfinished = (unfinished + data).split(b"\n")
        found += [(_text(line), operation.step) for line in ended]
    return found


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").removesuffix("\r")


def _with_distinct_ids(trials: Sequence[PlannedTrial]) -> tuple[PlannedTrial, ...]:
    """Two stages may start in one write: the second has another variant then."""
    seen: dict[str, int] = {}
    distinct: list[PlannedTrial] = []
    for trial in trials:
        number = seen[trial.point.id] = seen.get(trial.point.id, 0) + 1
        variant = trial.point.variant + (f"-{number}" if number > 1 else "")
        distinct.append(replace(trial, point=replace(trial.point, variant=variant)))
    return tuple(distinct)


def chosen(
    trials: Sequence[PlannedTrial], *, seed: int, exhaustive: bool
) -> tuple[PlannedTrial, ...]:
    """Those to make, in an order of which any beginning has something of every kind."""
    groups: dict[tuple[TrialKind, int], list[PlannedTrial]] = {}
    for trial in trials:
        groups.setdefault((trial.kind, trial.variant), []).append(trial)
    kept = [
        group if exhaustive else _sample(group, random.Random(seed)) for group in groups.values()
    ]
    ordered = [[group[index] for index in spread(len(group))] for group in kept]
    most = max(map(len, ordered), default=0)
    return tuple(group[rank] for rank in range(most) for group in ordered if rank < len(group))


def _sample(group: Sequence[PlannedTrial], shuffler: random.Random) -> list[PlannedTrial]:
    """First, last, and others; of those that are killed first, middle and last."""
    killed = group[0].kind is TrialKind.KILLED_ALWAYS
    most = MOST_KILLED if killed else MOST
    if len(group) <= most:
        return list(group)
    if killed:
        return [group[index] for index in sorted(spread(len(group))[:most])]
    others = sorted(shuffler.sample(range(1, len(group) - 1), most - 2))
    return [group[index] for index in (0, *others, len(group) - 1)]


def coverage(
    planned: Sequence[PlannedTrial],
    wanted: Sequence[PlannedTrial],
    made: Collection[CrashPoint],
    hung: Collection[CrashPoint],
) -> dict[TrialKind, Coverage]:
    """``wanted``: those chosen of all ``planned``; ``hung``: those left out for known hangs."""
    found: dict[TrialKind, Coverage] = {}
    for kind in dict.fromkeys(trial.kind for trial in planned):
        points = [trial.point for trial in wanted if trial.kind is kind]
        count = sum(trial.kind is kind for trial in planned)
        found[kind] = Coverage(
            derived=count,
            unique=count,
            explored=sum(point in made for point in points),
            unreached=tuple(
                point.operation for point in points if point not in made and point not in hung
            ),
            known_hangs=tuple(point for point in points if point in hung),
        )
    return found
