"""Attempts that crashes have used up: a refusal after several crashes that is no fault."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from checkpoint_contracts.evidence import Experiment
from checkpoint_contracts.second_crash import is_refusal, under_way
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.table import gap
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control, set_up
from pytest_checkpoint.states.kill import AGAIN, parse
from pytest_checkpoint.states.resumes import crashes_before
from pytest_checkpoint.states.source import StateSource


def told_spent(
    bench: Bench, control: Control, source: StateSource, experiments: Iterable[Experiment]
) -> Iterator[Experiment]:
    """With the stage whose attempts the crashes have used up, where that is why a resume refuses.

    Each crash fell into that stage, or just before it. The run, and resume after resume, are killed
    as often right after its start line: if the job refuses then too, it does so for the number of
    crashes, and not for where they fell.
    """
    known: dict[tuple[str, int], bool] = {}
    for experiment in experiments:
        spent = ""
        if gap(experiment) is None and is_refusal(experiment.resume):
            times = experiment.point.id.count(AGAIN) + 1
            for stage in _hit_each_time(control, source, experiment):
                if (stage, times) not in known:
                    known[stage, times] = _gives_up(bench, control, stage, times)
                if known[stage, times]:
                    spent = stage
                    break
        yield dataclasses.replace(experiment, spent=spent)


def _hit_each_time(control: Control, source: StateSource, experiment: Experiment) -> list[str]:
    """The stages that every one of the crashes may have interrupted, in the order of the run."""
    stages = stage_names(control.reference.events)
    hit = under_way(stages, experiment.events_before)
    for crash in crashes_before(parse(experiment.point.id)):
        hit &= under_way(stages, lines_of(source.state(crash).events))
    return [stage for stage in stages if stage in hit]


def _gives_up(bench: Bench, control: Control, stage: str, crashes: int) -> bool:
    set_up(bench)
    deadline_s = control.deadlines.for_a_hang().resume_s
    at_start = (f"start {stage}", 1)
    execution, killed = bench.attempt(bench.subject.run, deadline_s, kill_after=at_start)
    for _ in range(crashes - 1):
        if not killed:
            break
        execution, killed = bench.attempt(bench.subject.resume, deadline_s, kill_after=at_start)
    if killed:
        execution = bench.resume(deadline_s)
    return is_refusal(execution)
