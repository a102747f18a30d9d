"""Resume from every crash state, in order, within the budget."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from checkpoint_contracts import ACKNOWLEDGES_EXIT, after_exit, wants_unresumed_check
from checkpoint_contracts.bucket import StoreRequest
from checkpoint_contracts.evidence import Coverage, CrashPoint, Execution, Experiment, Fault
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.again_fresh import Sample
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.effects.reading import effects_of
from pytest_checkpoint.phases.looks import Looks
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.states.kill import CrashState
from pytest_checkpoint.states.order import UniqueState
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_HANGS_KNOWN: Final = 2
"""After so many hangs at one operation × kind its further states are not explored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    experiments: tuple[Experiment, ...]
    coverage: Mapping[Fault, Coverage]
    warm: frozenset[CrashPoint] = frozenset()
    """Where the experiment started warm."""
    unlike: CrashPoint | None = None
    """Where a warm start could not be used, and a fresh one could; or both, to another end."""
    keys: frozenset[bytes] = frozenset()
    """Of the states that were resumed from."""
    took_s: float = 0.0

    def with_more(self, other: Exploration) -> Exploration:
        """Both; of other faults."""
        return Exploration(
            experiments=(*self.experiments, *other.experiments),
            coverage={**self.coverage, **other.coverage},
            warm=self.warm | other.warm,
            unlike=self.unlike or other.unlike,
            keys=self.keys | other.keys,
            took_s=self.took_s + other.took_s,
        )


NOTHING_EXPLORED: Final = Exploration(experiments=(), coverage={})


class Starts(Protocol):
    """Who decides which experiments start warm (:class:`~pytest_checkpoint.phases.warm.Warmth`)."""

    def serves(self, where: CrashPoint, equal_steps: tuple[int, ...]) -> bool: ...


class States(Protocol):
    """What is to be explored, in order (:class:`~pytest_checkpoint.states.order.Plan`)."""

    @property
    def states(self) -> tuple[UniqueState, ...]: ...

    def __iter__(self) -> Iterator[tuple[UniqueState, State]]: ...

    def coverage(
        self, explored: Set[CrashState], known_hangs: Iterable[CrashState] = ()
    ) -> Mapping[Fault, Coverage]: ...


def explore(
    bench: Bench,
    control: Control,
    source: StateSource,
    plan: States,
    progress: Progress,
    starts: Starts,
    *,
    deadline: float | None = None,
) -> Exploration:
    """One experiment per unique state, until all are done or the budget is spent.

    ``deadline``: when it is, by :func:`time.monotonic`; None: the time budget from now on.
    """
    options, begun = bench.options, time.monotonic()
    if deadline is None:
        deadline = begun + options.time_budget_s
    looks = looks_of(bench, control, source)
    experiments: list[Experiment] = []
    explored: set[CrashState] = set()
    keys: set[bytes] = set()
    left_out: list[CrashState] = []
    warm: set[CrashPoint] = set()
    unlike: CrashPoint | None = None
    hangs: Counter[tuple[Fault, str]] = Counter()
    sample = Sample(options.seed)
    for number, (unique, state) in enumerate(plan):
        if time.monotonic() >= deadline and not options.exhaustive:
            break
        where = source.point(unique.crash)
        kind = (where.fault, where.signature)
        if hangs[kind] >= _HANGS_KNOWN:
            left_out.append(unique.crash)
            continue
        also = _also_lost(bench, source, unique)
        equal = equal_steps(unique)
        made = partial(
            conduct, bench, where, state, control.deadlines, looks, equal, tuple(also.values())
        )
        with bench.reusing_checks(), bench.warmly(on=starts.serves(where, equal)) as is_warm:
            experiment = made()
        if is_warm and not _usable(experiment):
            experiment = made()
            unlike = unlike or (where if _usable(experiment) else None)
        elif is_warm:
            warm.update((where, *also.values()))
            sample.offer(experiment, made)
        hangs[kind] += hung(experiment)
        experiments.append(told(experiment, source, unique.crash))
        for crash, loss in also.items():
            same = dataclasses.replace(experiment, point=loss, equal_steps=())
            experiments.append(told(same, source, crash))
        explored.add(unique.crash)
        keys.add(unique.key)
        progress.advance(number + 1, len(plan.states))
    unlike = unlike or sample.unlike()
    # In the order of the run, so that of each cause the earliest is reported.
    experiments.sort(key=lambda one: (one.point.step, list(Fault).index(one.point.fault)))
    return Exploration(
        experiments=tuple(experiments),
        coverage=plan.coverage(explored, left_out),
        warm=frozenset(warm),
        unlike=unlike,
        keys=frozenset(keys),
        took_s=time.monotonic() - begun,
    )


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


def _also_lost(
    bench: Bench, source: StateSource, unique: UniqueState
) -> dict[CrashState, CrashPoint]:
    """Power losses that leave the state of a kill or a torn write: judged as what they are too.

    One stands for all. After an exit that acknowledges each counts: what is right after a kill is
    a failure there, as the un-resumed check says.
    """
    if unique.crash.fault is Fault.POWER_LOSS:
        return {}
    losses = [alias for alias in unique.aliases if alias.fault is Fault.POWER_LOSS]
    wanted = losses[:1]
    if ACKNOWLEDGES_EXIT in bench.subject.capabilities:
        wanted += [alias for alias in losses[1:] if after_exit(source.point(alias))]
    return {alias: source.point(alias) for alias in wanted}


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


def equal_steps(unique: UniqueState) -> tuple[int, ...]:
    """Further steps after which a kill leaves the state."""
    return tuple(alias.step for alias in unique.aliases if alias.fault is Fault.KILL)


def _usable(experiment: Experiment) -> bool:
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
