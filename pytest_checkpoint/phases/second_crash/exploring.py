"""Crash after crash: resumes are recorded, crashed at every operation, and resumed from there.

They have a share of their own of the time budget and of the states, apart from exploring. All that
is resumed from here differs from what was explored before: a state that a single crash leaves too
is known already. That a stage was begun twice makes no other state: only a job that reads the
events file could tell, and that is the kit's.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import Coverage, Experiment, Fault
from checkpoint_contracts.table import gap, symptoms
from checkpoint_contracts.wording import counted
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.explore import NOTHING_EXPLORED, Exploration, Starts, explore
from pytest_checkpoint.phases.second_crash.plan import SecondCrashes
from pytest_checkpoint.phases.second_crash.recoveries import (
    Recorder,
    Recoveries,
    crashes_of,
    in_turn,
    single_keys,
)
from pytest_checkpoint.phases.second_crash.spent import told_spent
from pytest_checkpoint.states.kill import CrashState, kill_state, parse
from pytest_checkpoint.states.resumes import kind_of
from pytest_checkpoint.states.source import StateSource

SHARE: Final = 0.25
"""Of the time budget, and of the states."""
_FOR_RECORDING: Final = 0.35
"""Of that time."""
_TELLING: Final = 8
"""From so many experiments on it is known how long one takes."""


def explore_second_crashes(
    bench: Bench,
    control: Control,
    source: StateSource,
    before: Exploration,
    progress: Progress,
    starts: Starts,
    *,
    folder: Path,
) -> Exploration:
    """Of two crashes, and of as many as ``--checkpoint-depth`` says.

    ``before``: what single crashes gave; ``folder``: where the recorded resumes are kept.
    """
    options = bench.options
    recorder = Recorder(bench, control, source, folder)
    end = time.monotonic() + SHARE * options.time_budget_s
    torn = Fault.TORN in options.faults
    crashes = crashes_of(source, torn=torn, exhaustive=options.exhaustive)
    broken: set[tuple[Fault, str]] = set()
    found = NOTHING_EXPLORED
    singles = before.experiments
    hanging = _known_hangs(before)
    keys = single_keys(source, exhaustive=options.exhaustive, repeats=False)
    for depth in range(2, options.depth + 1):
        now = time.monotonic()
        level_s = (end - now) / (options.depth + 1 - depth)
        progress.phase(f"recording resumes, to crash them ({depth} crashes in a row)")
        failing, sound = _ids(singles, control)
        failing |= hanging
        chosen = Recoveries()
        recorder.choose(
            crashes,
            known_failing=failing,
            known_sound=sound,
            known_keys=keys,
            deadline=now + _FOR_RECORDING * level_s,
            found=chosen,
        )
        broken |= chosen.broken | _broken(source, singles, control)
        plan = SecondCrashes(
            source,
            recorder,
            chosen,
            keys,
            torn=torn,
            broken=broken,
            exhaustive=options.exhaustive,
        )
        plan.limit(
            None if options.exhaustive else now + level_s - time.monotonic(),
            _one_s(before),
            max(1, int(SHARE * options.max_states)),
        )
        if plan.states:
            progress.estimate(
                f"{counted(len(plan.states), 'state')} after {depth} crashes in a row"
            )
        seen = explore(bench, control, source, plan, progress, starts, deadline=now + level_s)
        seen = dataclasses.replace(
            seen, experiments=tuple(told_spent(bench, control, source, seen.experiments))
        )
        found = _together(found, seen)
        keys, singles, hanging = keys | seen.keys, seen.experiments, _known_hangs(seen)
        crashes = _next(source, singles)
    return found


def _one_s(before: Exploration) -> float | None:
    """What an experiment takes, by those that were made; None: there are too few to tell."""
    made = len(before.experiments)
    return before.took_s / made if made >= _TELLING else None


def _ids(experiments: Iterable[Experiment], control: Control) -> tuple[set[str], set[str]]:
    """Of the crashes that were not survived, and of those that were."""
    failing: set[str] = set()
    sound: set[str] = set()
    for one in experiments:
        if gap(one) is None:
            bad = bool(symptoms(one, control.reference)) or bool(one.spent)
            (failing if bad else sound).add(one.point.id)
    return failing, sound - failing


def _broken(
    source: StateSource, experiments: Iterable[Experiment], control: Control
) -> set[tuple[Fault, str]]:
    """Of kills and torn writes that were not survived: which of them, and at what operations."""
    found: set[tuple[Fault, str]] = set()
    for one in experiments:
        if one.point.fault not in (Fault.KILL, Fault.TORN, Fault.SECOND_CRASH):
            continue
        if gap(one) is None and symptoms(one, control.reference) and not one.spent:
            found.add(kind_of(one.point))
            found |= {kind_of(source.point(kill_state(step))) for step in one.equal_steps}
    return found


def _known_hangs(explored: Exploration) -> set[str]:
    """Ids of crashes that were left out, since others at that operation hung."""
    return {point.id for one in explored.coverage.values() for point in one.known_hangs}


def _next(source: StateSource, experiments: Iterable[Experiment]) -> list[CrashState]:
    """The crashes in a resume, those at one kind of operation together."""
    groups: dict[tuple[str, bool], list[CrashState]] = {}
    for one in experiments:
        kind = (one.point.signature, one.point.variant.endswith("kill"))
        groups.setdefault(kind, []).append(parse(one.point.id))
    return in_turn(list(groups.values()))


def _together(one: Exploration, other: Exploration) -> Exploration:
    """Two depths of the same fault."""
    both = one.with_more(other)
    first, second = (seen.coverage.get(Fault.SECOND_CRASH) for seen in (one, other))
    if first is None or second is None:
        return both
    summed = Coverage(
        derived=first.derived + second.derived,
        unique=first.unique + second.unique,
        explored=first.explored + second.explored,
        unreached=first.unreached + second.unreached,
        known_hangs=first.known_hangs + second.known_hangs,
        left_out=first.left_out + second.left_out,
        doubts=first.doubts + second.doubts,
    )
    return dataclasses.replace(both, coverage={Fault.SECOND_CRASH: summed})
