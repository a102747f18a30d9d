"""The story of one examination, phase by phase.

control run → recording → self-check → crash states → resume and check each → replay what failed →
judge. Nothing is run twice for two contracts: all of them judge the same evidence.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

from checkpoint_contracts import CATALOGUE, RESUME_IS_IDEMPOTENT, judge_all, replays_needed
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Experiment, Fault
from checkpoint_contracts.verdict import Verdict
from pytest_checkpoint.errors import HarnessError, SubjectError, UserError
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.keeping.keep import Keeper, keep_wrecks
from pytest_checkpoint.keeping.kept import Kept, evidence_of_replay
from pytest_checkpoint.keeping.places import chosen_root, first_root, kept_folder, slots_of
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import (
    Control,
    FirstRun,
    control_run,
    first_run,
    resumed_when_finished,
)
from pytest_checkpoint.phases.explore import (
    NOTHING_EXPLORED,
    Exploration,
    conduct,
    explore,
    hung,
    told,
)
from pytest_checkpoint.phases.selfcheck import self_check
from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.states.kill import CrashState, parse
from pytest_checkpoint.states.order import Plan, plan
from pytest_checkpoint.states.outputs import find_outputs
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject


def examine(subject: Subject, options: Options, progress: Progress) -> Examination:
    """Find out which promises a subject keeps.

    Raises :class:`~pytest_checkpoint.errors.UserError` for what is known before anything runs. What
    is wrong with the subject makes every verdict inconclusive, with that sentence.
    """
    abilities.require()
    kept_folder(options, subject)  # told now, not after the first run, if it cannot be made
    begun = time.monotonic()
    try:
        first, root = _first_run(subject, options, progress)
        with SlotClient(slots_of(root, options, subject)) as client:
            examination = _Examiner(subject, options, progress, client).examine(first)
    except (SubjectError, HarnessError) as error:
        examination = _invalid(subject, options, str(error))
    return dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)


def replay(
    subject: Subject, options: Options, contract: str, point_id: str, progress: Progress
) -> Examination:
    """Crash one state again, from the kept recording, and judge one contract by it.

    Nothing is recorded again if a recording is kept. Raises
    :class:`~pytest_checkpoint.errors.UserError` if the point is none of the recording's.
    """
    abilities.require()
    begun = time.monotonic()
    kept = Kept.of(options, subject)
    crash = parse(point_id)
    try:
        if kept is None:
            first, root = _first_run(subject, options, progress)
            with SlotClient(slots_of(root, options, subject)) as client:
                examination = _Examiner(subject, options, progress, client).record_and_replay(
                    first, contract, crash
                )
        else:
            slot = Path(kept.recording.slot)
            progress.phase(kept.note)
            with SlotClient(slot.parent, int(slot.name)) as client:
                examiner = _Examiner(subject, options, progress, client, kept.note)
                control = kept.control(options)
                examination = examiner.replay(control, kept.evidence, contract, crash)
    except (SubjectError, HarnessError) as error:
        examination = _invalid(subject, options, str(error))
    return dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)


def _first_run(subject: Subject, options: Options, progress: Progress) -> tuple[FirstRun, Path]:
    """In TMPDIR; and where the second run and all experiments go, by what it needed."""
    with SlotClient(slots_of(first_root(options), options, subject)) as client:
        first = first_run(Bench(client, subject, options), client.scratch, progress)
    return first, chosen_root(options, first.peak_bytes)


def contracts_of(options: Options) -> tuple[Contract, ...]:
    """Those that were selected."""
    return tuple(
        contract
        for contract in CATALOGUE.values()
        if options.contracts is None or contract.id in options.contracts
    )


def faults_of(options: Options) -> frozenset[Fault]:
    """Those asked for that some selected contract looks at."""
    needed = frozenset[Fault]().union(*(one.faults for one in contracts_of(options)))
    return options.faults & needed


def _invalid(subject: Subject, options: Options, sentence: str) -> Examination:
    evidence = Evidence(
        subject=subject.name,
        capabilities=subject.capabilities,
        faults=options.faults,
        not_applicable=subject.not_applicable,
        invalid=sentence,
        restart_ratio=options.restart_ratio,
    )
    return Examination(evidence=evidence, verdicts=judge_all(evidence, contracts_of(options)))


class _Examiner:
    def __init__(
        self,
        subject: Subject,
        options: Options,
        progress: Progress,
        client: SlotClient,
        *notes: str,
    ) -> None:
        self._subject = subject
        self._options = options
        self._progress = progress
        self._bench = Bench(client, subject, options)
        self._keeper = Keeper(
            folder=kept_folder(options, subject, client.number), cap_bytes=options.keep_bytes
        )
        self._notes = [f"workspace {client.workspace}", *notes]

    def examine(self, first: FirstRun) -> Examination:
        self._keeper.begin()
        control = control_run(self._bench, first, self._keeper.recording, self._progress)
        self._notes += control.notes
        self._notes += self_check(
            self._bench, control, self._options.self_check_points, self._progress
        )
        self._progress.phase("deriving crash states")
        source = StateSource(control.recording, self._options.model)
        planned = plan(
            source,
            faults=faults_of(self._options),
            seed=self._options.seed,
            max_states=self._options.max_states,
            exhaustive=self._options.exhaustive,
        )
        self._progress.estimate(self._estimate(control, planned))
        exploration = explore(self._bench, control, source, planned, self._progress)
        evidence = self._replayed(self._evidence(control, exploration, source), control, source)
        return self._judged(evidence, source)

    def record_and_replay(self, first: FirstRun, contract: str, crash: CrashState) -> Examination:
        """Where no recording is kept: the control run first."""
        self._keeper.begin()
        control = control_run(self._bench, first, self._keeper.recording, self._progress)
        self._notes.append("no recording was kept: the job was recorded again for this replay")
        return self.replay(control, None, contract, crash)

    def replay(
        self, control: Control, known: Evidence | None, contract: str, crash: CrashState
    ) -> Examination:
        """One experiment, held against the reference that was kept or has just been made."""
        source = StateSource(control.recording, self._options.model)
        state = require_state(crash, source)
        where = source.point(crash)
        self._progress.phase(f"replaying step {where.step} ({where.operation})")
        seen = _same_point(known, where)
        equal = seen.equal_steps if seen else ()
        deadlines = control.deadlines
        if seen is not None and hung(seen):
            deadlines = deadlines.for_a_hang()
        again = told(conduct(self._bench, where, state, deadlines, equal), source, crash)
        if contract == RESUME_IS_IDEMPOTENT:
            finished = resumed_when_finished(self._bench, state)
            reference = dataclasses.replace(control.reference, finished_again=finished)
            control = dataclasses.replace(control, reference=reference)
            known = known and dataclasses.replace(known, reference=reference)
        evidence = evidence_of_replay(
            known or self._evidence(control, NOTHING_EXPLORED, source), contract, again
        )
        verdicts = judge_all(evidence, [CATALOGUE[contract]])
        operations = source.operations
        return Examination(
            evidence=evidence,
            verdicts=verdicts,
            operations=len(operations),
            notes=tuple(self._notes),
            wrecks=keep_wrecks(self._keeper, verdicts, [again], {where: state}, operations),
            folder=self._keeper.folder,
        )

    def _estimate(self, control: Control, planned: Plan) -> str:
        reference = control.reference
        resume_s = (reference.run.wall_s + reference.finished_resume.wall_s) / 2
        one_s = resume_s + reference.check.wall_s
        states = len(planned.states)
        expected_s, budget_s = states * one_s, self._options.time_budget_s
        text = f"{states} states, about {_duration(expected_s)}"
        if expected_s > budget_s and not self._options.exhaustive:
            text += f", cut off after {_duration(budget_s)} (--checkpoint-time-budget)"
        return text

    def _evidence(
        self, control: Control, exploration: Exploration, source: StateSource
    ) -> Evidence:
        unobservable = {}
        if control.unreadable:
            sentence = (
                "stores through a shared mapping could not be read, so its states are not known: "
                + ", ".join(control.unreadable)
            )
            unobservable = dict.fromkeys(Fault, sentence)
        subject = self._subject
        outputs = find_outputs(
            source.timeline, source.operations, subject.outputs, subject.ephemeral
        )
        return Evidence(
            subject=subject.name,
            capabilities=subject.capabilities,
            faults=faults_of(self._options),
            not_applicable=self._subject.not_applicable,
            unobservable=unobservable,
            reference=control.reference,
            experiments=exploration.experiments,
            coverage=exploration.coverage,
            outputs=outputs.paths,
            partial_outputs=outputs.partial,
            restart_ratio=self._options.restart_ratio,
        )

    def _replayed(self, evidence: Evidence, control: Control, source: StateSource) -> Evidence:
        """Replay before report: the first failure of each cause must show again."""
        contracts = contracts_of(self._options)
        seen = {experiment.point: experiment for experiment in evidence.experiments}
        replayed = 0
        while needed := replays_needed(evidence, contracts):
            replays = list(evidence.replays)
            for where in needed:
                replayed += 1
                self._progress.phase(f"replaying failure {replayed} (step {where.step})")
                replays.append(self._replay(where, seen[where], control, source))
            evidence = dataclasses.replace(evidence, replays=tuple(replays))
        return evidence

    def _replay(
        self, where: CrashPoint, seen: Experiment, control: Control, source: StateSource
    ) -> Experiment:
        deadlines = control.deadlines
        if hung(seen):
            deadlines = deadlines.for_a_hang()
        crash = parse(where.id)
        state = source.state(crash)
        again = conduct(self._bench, where, state, deadlines, seen.equal_steps)
        return told(again, source, crash)

    def _judged(self, evidence: Evidence, source: StateSource) -> Examination:
        verdicts = judge_all(evidence, contracts_of(self._options))
        operations = source.operations
        self._keeper.evidence(evidence)
        self._keeper.operations(operations)
        states = _states_of(verdicts, source)
        experiments = (*evidence.experiments, *evidence.replays)
        return Examination(
            evidence=evidence,
            verdicts=verdicts,
            operations=len(operations),
            notes=tuple(self._notes),
            wrecks=keep_wrecks(self._keeper, verdicts, experiments, states, operations),
            folder=self._keeper.folder,
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} minutes"


def require_state(crash: CrashState, source: StateSource) -> State:
    """UserError with a sentence if the recording has no such state."""
    steps = source.timeline.steps
    if crash.step <= steps:
        try:
            return source.state(crash)
        except HarnessError as error:
            raise UserError(
                f"there is no crash state {crash.step}.{crash.variant}: {error}"
            ) from error
    raise UserError(
        f"there is no step {crash.step}: the recording has {steps}; copy the replay line "
        "from a failure of this recording"
    )


def _same_point(evidence: Evidence | None, where: CrashPoint) -> Experiment | None:
    experiments = evidence.experiments if evidence else ()
    return next((one for one in experiments if one.point.id == where.id), None)


def _states_of(verdicts: Mapping[str, Verdict], source: StateSource) -> dict[CrashPoint, State]:
    """The crash states of all confirmed failures."""
    points = {
        failure.finding.point for verdict in verdicts.values() for failure in verdict.failures
    }
    return {where: source.state(parse(where.id)) for where in points}
