"""One experiment: restore a state, resume, look, check."""

from __future__ import annotations

import dataclasses

from checkpoint_contracts import wants_unresumed_check
from checkpoint_contracts.bucket import StoreRequest
from checkpoint_contracts.evidence import CrashPoint, Execution, Experiment, Fault
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.effects.reading import effects_of
from pytest_checkpoint.phases.looks import Looks
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.states.kill import CrashState
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State


def looks_of(bench: Bench, control: Control, source: StateSource) -> Looks:
    """What experiments with this recording look at."""
    timeline = source.timeline
    end = timeline.after(timeline.steps)
    return Looks(bench, control.reference, end, source.further.get(Fault.DAMAGE))


def conduct(
    bench: Bench,
    where: CrashPoint,
    state: State,
    deadlines: Deadlines,
    looks: Looks,
    equal: tuple[int, ...] = (),
    also: tuple[CrashPoint, ...] = (),
) -> Experiment:
    """Restore the state, resume, take the events, look, check.

    ``also``: crashes that leave it too.
    """
    unresumed = None
    if any(_wants_unresumed(bench, one, equal) for one in (where, *also)):
        bench.put(state)
        unresumed = bench.check(deadlines.check_s)
    bench.put(state)
    handoff = looks.handoff(where, state, deadlines)
    resume, asked = _resume(bench, deadlines)
    resumed = Experiment(
        point=where,
        equal_steps=equal,
        events_before=lines_of(state.events),
        events_after=bench.new_events(state.events),
        effects_before=effects_of(state.effects),
        effects_after=bench.new_effects(state.effects),
        requests=asked,
        objects=objects_of(bench.client.objects.read_bytes()),
        resume=resume,
        unresumed_check=unresumed,
        handoff=handoff,
    )
    output_changes = looks.output_changes(resumed, state)
    damage = looks.damage(where, resume)
    check = second = None
    if resume.succeeded:
        check = bench.check(deadlines.check_s)
    elif resume.usable and not resume.timed_out and damage is None:
        second = bench.resume(deadlines.resume_s)
    return dataclasses.replace(
        resumed, second_resume=second, check=check, output_changes=output_changes, damage=damage
    )


def _resume(bench: Bench, deadlines: Deadlines) -> tuple[Execution, tuple[StoreRequest, ...]]:
    """Once, or as often as the subject says it may take; the cost is that of all attempts."""
    execution = bench.resume(deadlines.resume_s)
    asked = requests_of(bench.asked)
    for _ in range(bench.subject.resume_attempts - 1):
        if execution.succeeded or not execution.usable:
            break
        again = bench.resume(deadlines.resume_s)
        asked += requests_of(bench.asked)
        execution = dataclasses.replace(
            again,
            wall_s=execution.wall_s + again.wall_s,
            user_cpu_s=execution.user_cpu_s + again.user_cpu_s,
            bytes_written=execution.bytes_written + again.bytes_written,
            operations=execution.operations + again.operations,
        )
    return execution, asked


def _wants_unresumed(bench: Bench, where: CrashPoint, equal: tuple[int, ...]) -> bool:
    wanted = bench.options.contracts
    return wants_unresumed_check(where, equal, bench.subject.capabilities, wanted)


def told(experiment: Experiment, source: StateSource, crash: CrashState) -> Experiment:
    """With what a power loss took, in words."""
    if crash.fault is not Fault.POWER_LOSS:
        return experiment
    words = source.words(crash)
    return dataclasses.replace(
        experiment,
        lost=words.lost,
        missing_syncs=words.missing_syncs,
        missing_kinds=words.missing_kinds,
    )


def usable(experiment: Experiment) -> bool:
    executions = (
        experiment.unresumed_check,
        experiment.resume,
        experiment.second_resume,
        experiment.check,
    )
    return all(one is None or one.usable for one in executions)


def hung(experiment: Experiment) -> bool:
    check = experiment.check
    return experiment.resume.timed_out or (check is not None and check.timed_out)
