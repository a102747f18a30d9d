"""Runs of the subject with a fault that answers: a stage that raises or dies, a changed pipeline.

What a job does about these cannot be derived from a recording: each is tried in the slot, by the
commands of the subject itself. All trials together have the time budget of the subject, apart from
the one for exploring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Final

from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Execution,
    Trial,
    TrialKind,
    Variant,
)
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control, set_up
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook, once, trial_name
from pytest_checkpoint.phases.told import Told
from pytest_checkpoint.phases.trial_plan import PlannedTrial, chosen, coverage, possible
from pytest_checkpoint.phases.variants import variant
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_ALWAYS: Final = 1_000_000
_HANGS_KNOWN: Final = 2
"""After so many hangs of one kind its further trials are left out."""


class StageTrials:
    """Stages that fail or are killed, and changed pipelines."""

    def __init__(
        self,
        bench: Bench,
        control: Control,
        source: StateSource,
        kinds: Collection[TrialKind],
        progress: Progress,
        logbook: Logbook = FORGETFUL,
    ) -> None:
        """SubjectError if a changed pipeline is none, or does not work."""
        self.variants: list[Variant] = []
        self.made: list[Trial] = []
        self._bench, self._control, self._source = bench, control, source
        self._progress, self._logbook = progress, logbook
        self._left_out: set[CrashPoint] = set()
        if TrialKind.CHANGED in kinds:
            for number in range(1, len(bench.subject.changed) + 1):
                progress.phase(f"changed pipeline {number}, undisturbed")
                make = partial(variant, bench, control, number)
                self.variants.append(once(logbook, f"changed pipeline {number}", Variant, make))
        options = bench.options
        self._planned = possible(control.recording, control.reference, kinds, len(self.variants))
        self.wanted = chosen(self._planned, seed=options.seed, exhaustive=options.exhaustive)

    def work(self) -> Iterator[None]:
        hangs: Counter[str] = Counter()
        told = Told(self._progress)
        for number, one in enumerate(self.wanted, 1):
            if hangs[one.point.signature] >= _HANGS_KNOWN:
                self._left_out.add(one.point)
                continue
            told.phase(f"trial {number} of {len(self.wanted)}: {one.point.operation}")
            trial = once(
                self._logbook, trial_name(one.kind, one.point), Trial, partial(self._made, one)
            )
            hangs[one.point.signature] += trial.hung
            self.made.append(trial)
            yield

    def _made(self, planned: PlannedTrial) -> Trial:
        return conduct(self._bench, self._control, self._source, planned, self.variants)[0]

    def coverage(self) -> dict[TrialKind, Coverage]:
        made = {trial.point for trial in self.made}
        return coverage(self._planned, self.wanted, made, self._left_out)


def find_trial(bench: Bench, control: Control, contract: str, point_id: str) -> PlannedTrial:
    """The trial of this id (``12.raises-once``). UserError if the contract has none such."""
    judge = bench.options.catalogue[contract]
    kinds = judge.kinds if isinstance(judge, TrialContract) else ()
    variants = len(bench.subject.changed)
    for one in possible(control.recording, control.reference, kinds, variants):
        if one.point.id == point_id:
            return one
    raise UserError(
        f"there is no trial {point_id} of {contract}: copy the replay line from a failure of this "
        "recording"
    )


def conduct(
    bench: Bench,
    control: Control,
    source: StateSource,
    planned: PlannedTrial,
    variants: Iterable[Variant] = (),
) -> tuple[Trial, State]:
    """One trial, and what lay there after its last leg.

    ``variants``: the changed pipelines, undisturbed; how long one took decides how long it may.
    """
    if planned.kind is TrialKind.CHANGED:
        return _change(bench, control, source, planned, variants)
    set_up(bench)
    legs = _Legs(bench, control.deadlines.for_a_hang().resume_s)
    start, limit = f"start {planned.stage}", bench.options.attempts
    match planned.kind:
        case TrialKind.RAISES_ONCE:
            if legs.run(stage_fault=f"raise:{planned.stage}:1").stopped:
                legs.resume()
        case TrialKind.RAISES_ALWAYS:
            fault, endless = f"raise:{planned.stage}:{_ALWAYS}", (start, limit + 1)
            if legs.run(stage_fault=fault, kill_after=endless).stopped:
                legs.resume(stage_fault=fault, kill_after=endless)
        case _:
            leg = legs.run(kill_after=(start, 1))
            while leg.killed and len(legs.made) <= limit:
                leg = legs.resume(kill_after=(start, 1))
    left = bench.state()
    trial = Trial(
        point=planned.point,
        kind=planned.kind,
        stage=planned.stage,
        limit=limit,
        events_before=lines_of(control.start.events),
        legs=tuple(legs.made),
        check=_check(bench, control, legs.made[-1]),
    )
    return trial, left


def _change(
    bench: Bench,
    control: Control,
    source: StateSource,
    planned: PlannedTrial,
    variants: Iterable[Variant],
) -> tuple[Trial, State]:
    """The changed pipeline as the resume; if it refuses, the original one after it."""
    deadline_s = control.deadlines.for_a_hang().resume_s
    for one in variants:
        if one.number == planned.variant:
            own = Deadlines.of(bench.options, resume_took_s=one.run.wall_s, check_took_s=0.0)
            deadline_s = max(deadline_s, own.for_a_hang().resume_s)
    crashed = source.state(kill_state(planned.point.step))
    bench.put(crashed)
    legs, unspoilt = _Legs(bench, deadline_s), _Legs(bench, deadline_s)
    leg = legs.changed(planned.variant)
    if leg.stopped and leg.execution.signal is None and leg.execution.usable:
        legs.resume()
    left = bench.state()
    check = _check(bench, control, legs.made[-1])
    unspoilt_check = None
    if len(legs.made) > 1 and not _as_if_not_refused(control, crashed, legs.made[1], check):
        bench.put(crashed)
        unspoilt.resume()
        unspoilt_check = _check(bench, control, unspoilt.made[-1])
    trial = Trial(
        point=planned.point,
        kind=planned.kind,
        variant=planned.variant,
        events_before=lines_of(crashed.events),
        legs=tuple(legs.made),
        check=check,
        unspoilt=tuple(unspoilt.made),
        unspoilt_check=unspoilt_check,
    )
    return trial, left


def _check(bench: Bench, control: Control, last: Leg) -> Execution | None:
    if not last.execution.succeeded:
        return None
    return bench.check(control.deadlines.for_a_hang().check_s)


def _as_if_not_refused(
    control: Control, crashed: State, resume: Leg, check: Execution | None
) -> bool:
    """Whether the original ended with its own result, and ran nothing that had been done."""
    reference = control.reference
    ended_well = check is not None and check.succeeded and check.output == reference.check.output
    stages = stage_names(reference.events)
    return ended_well and not done_again(stages, lines_of(crashed.events), resume.events)


class _Legs:
    """The executions of one trial, one after the other in one workspace."""

    def __init__(self, bench: Bench, deadline_s: float) -> None:
        self._bench = bench
        self._deadline_s = deadline_s
        self.made: list[Leg] = []

    def run(
        self, *, stage_fault: str | None = None, kill_after: tuple[str, int] | None = None
    ) -> Leg:
        return self._make(
            Command.RUN, self._bench.subject.run, stage_fault=stage_fault, kill_after=kill_after
        )

    def resume(
        self, *, stage_fault: str | None = None, kill_after: tuple[str, int] | None = None
    ) -> Leg:
        """As often as the subject says it may take; a kill is its end."""
        return self._make(
            Command.RESUME,
            self._bench.subject.resume,
            stage_fault=stage_fault,
            kill_after=kill_after,
        )

    def changed(self, variant: int) -> Leg:
        return self._make(Command.CHANGED, self._bench.subject.changed[variant - 1])

    def _make(
        self,
        kind: Command,
        command: tuple[str, ...],
        *,
        stage_fault: str | None = None,
        kill_after: tuple[str, int] | None = None,
    ) -> Leg:
        bench = self._bench
        attempts = 1 if kind is Command.RUN else bench.subject.resume_attempts
        before = bench.client.events.read_bytes()

        def attempt() -> tuple[Execution, bool]:
            return bench.attempt(
                command, self._deadline_s, stage_fault=stage_fault, kill_after=kill_after
            )

        execution, killed = attempt()
        for _ in range(attempts - 1):
            if killed or execution.succeeded or not execution.usable:
                break
            execution, killed = attempt()
        leg = Leg(command=kind, execution=execution, events=bench.new_events(before), killed=killed)
        self.made.append(leg)
        return leg
