"""How one subject is examined, in its slot: the phases one after the other, and a replay."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from checkpoint_contracts import (
    CATALOGUE,
    RESTORED,
    RESUME_IS_IDEMPOTENT,
    judge_all,
    trials_wanted,
)
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Fault, TrialKind
from checkpoint_contracts.litter import CLEANS_UP
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.keeping.keep import Keeper, Printed, keep_wrecks, printed_by
from pytest_checkpoint.keeping.kept import evidence_of_replay, evidence_of_trial
from pytest_checkpoint.keeping.places import kept_folder
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import (
    Control,
    FirstRun,
    control_run,
    resumed_when_finished,
)
from pytest_checkpoint.phases.estimate import all_would_take, estimate
from pytest_checkpoint.phases.explore import (
    NOTHING_EXPLORED,
    Exploration,
    conduct,
    explore,
    hung,
    looks_of,
    told,
)
from pytest_checkpoint.phases.faults.litter import left_behind
from pytest_checkpoint.phases.faults.planned import KINDS as FAULTS_TRIED
from pytest_checkpoint.phases.further import keep_needed, make_known, takes_more, with_further
from pytest_checkpoint.phases.liveness.asking import declared as declared_heartbeat
from pytest_checkpoint.phases.replays import Replays, require_state, same_point
from pytest_checkpoint.phases.second_crash.spent import told_spent
from pytest_checkpoint.phases.selfcheck import self_check
from pytest_checkpoint.phases.store.ahead import ahead_of
from pytest_checkpoint.phases.trials_again import TrialsAgain
from pytest_checkpoint.phases.trying import NOTHING_TRIED, Tried, is_trial, try_all
from pytest_checkpoint.phases.warm import COLD, Warmth, doubt, try_warm
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.order import Plan, plan
from pytest_checkpoint.states.outputs import find_outputs
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject


def contracts_of(options: Options) -> tuple[Contract, ...]:
    """Those that were selected."""
    return tuple(
        contract
        for contract in CATALOGUE.values()
        if options.contracts is None or contract.id in options.contracts
    )


def faults_of(options: Options, subject: Subject) -> frozenset[Fault]:
    """Those asked for that some selected contract looks at, if it is a promise of the subject's."""
    promised = [one for one in contracts_of(options) if one.id not in subject.not_applicable]
    needed = frozenset[Fault]().union(*(one.faults for one in promised))
    crashes_once = {Fault.SECOND_CRASH} if options.depth < 2 else set[Fault]()
    return (options.faults & needed) - crashes_once


class Examiner:
    """One subject in one slot, from its control run to its verdicts."""

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
            folder=kept_folder(options, subject, client.number),
            cap_bytes=options.keep_bytes,
            store=client.bodies if subject.s3 is not None else None,
        )
        self._notes = [f"workspace {client.workspace}", *notes]

    def examine(self, first: FirstRun) -> Examination:
        self._keeper.begin()
        control = control_run(self._bench, first, self._keeper.recording, self._progress)
        self._notes += control.notes
        self._notes += self_check(
            self._bench, control, self._options.self_check_points, self._progress
        )
        source = StateSource(control.recording, self._options.model)
        kinds = self._kinds(control, source)
        self._progress.phase("deriving crash states")
        planned = plan(
            source,
            faults=faults_of(self._options, self._subject),
            seed=self._options.seed,
            max_states=self._options.max_states,
            exhaustive=self._options.exhaustive,
        )
        finished = source.timeline.after(source.timeline.steps)
        count = len(planned.states) + (len(source.operations) if kinds & set(FAULTS_TRIED) else 0)
        if takes_more(faults_of(self._options, self._subject), self._subject):
            count += len(source.operations)
        warmth = try_warm(self._bench, control, finished, count, self._progress)
        self._notes += warmth.notes
        tried = self._tried(control, source, kinds, warmth)
        if planned.states:
            self._progress.estimate(self._estimate(control, planned, warmth))
        replays = Replays(self._bench, control, source, self._progress)

        def replayed(exploration: Exploration) -> Evidence:
            evidence = tried.added_to(self._evidence(control, exploration, source))
            return replays.added_to(evidence, contracts_of(self._options))

        begun = time.monotonic()
        exploration = explore(self._bench, control, source, planned, self._progress, warmth)
        self._note_fall_back(warmth)
        self._notes += all_would_take(exploration.coverage, time.monotonic() - begun, self._options)
        exploration = self._with_further(control, source, exploration, warmth)
        evidence = replayed(exploration)
        doubtful = exploration.unlike or doubt(
            evidence, contracts_of(self._options), exploration.warm, control.deadlines
        )
        if doubtful is not None:
            self._notes.append(
                f"what was seen in a warm start (step {doubtful.step}, {doubtful.operation}) did "
                "not show in a fresh process: everything was explored again with fresh processes"
            )
            exploration = explore(self._bench, control, source, planned, self._progress, COLD)
            evidence = replayed(self._with_further(control, source, exploration, COLD))
        return self._judged(evidence, source, replays)

    def _with_further(
        self, control: Control, source: StateSource, exploration: Exploration, warmth: Warmth
    ) -> Exploration:
        return with_further(
            self._bench,
            control,
            source,
            exploration,
            faults_of(self._options, self._subject),
            self._progress,
            warmth,
            self._keeper.resumes,
        )

    def _note_fall_back(self, warmth: Warmth) -> None:
        why = self._bench.fell_back
        if warmth.on and why and not any(why in note for note in warmth.notes):
            self._notes.append(f"from some state on resumes and checks started fresh: {why}")

    def _kinds(self, control: Control, source: StateSource) -> frozenset[TrialKind]:
        """Of the trials by which some contract is to be judged."""
        known = self._evidence(control, NOTHING_EXPLORED, source)
        return trials_wanted(known, contracts_of(self._options))

    def _tried(
        self,
        control: Control,
        source: StateSource,
        kinds: frozenset[TrialKind],
        warmth: Warmth,
    ) -> Tried:
        """The trials of these kinds; and what killed attempts leave, where nobody judges that."""
        known = self._evidence(control, NOTHING_EXPLORED, source)
        if known.faults & {Fault.CRASH_LOOP} and CLEANS_UP not in self._subject.capabilities:
            self._notes += left_behind(self._bench, control, source)
        if not kinds:
            return NOTHING_TRIED
        tried = try_all(
            self._bench,
            control,
            source,
            kinds,
            self._progress,
            warm=warmth.on,
            saves_s=warmth.saves_s,
        )
        self._notes += tried.notes
        return tried

    def record_and_replay(self, first: FirstRun, contract: str, point_id: str) -> Examination:
        """Where no recording is kept: the control run first."""
        self._keeper.begin()
        control = control_run(self._bench, first, self._keeper.recording, self._progress)
        self._notes.append("no recording was kept: the job was recorded again for this replay")
        return self.replay(control, None, contract, point_id)

    def replay(
        self, control: Control, known: Evidence | None, contract: str, point_id: str
    ) -> Examination:
        """One experiment, or trial, held against the reference that was kept or just made."""
        source = StateSource(control.recording, self._options.model)
        if is_trial(contract, point_id):
            return self._replay_trial(control, known, contract, point_id, source)
        crash = parse(point_id)
        self._notes += make_known(self._bench, control, source, crash, self._keeper.resumes)
        state = require_state(crash, source)
        where = source.point(crash)
        self._progress.phase(f"replaying step {where.step} ({where.operation})")
        seen = same_point(known, where)
        equal = seen.equal_steps if seen else ()
        deadlines = control.deadlines
        if seen is not None and hung(seen):
            deadlines = deadlines.for_a_hang()
        looks = looks_of(self._bench, control, source)
        again = told(conduct(self._bench, where, state, deadlines, looks, equal), source, crash)
        if crash.fault is Fault.SECOND_CRASH:
            (again,) = told_spent(self._bench, control, source, [again])
        if contract == RESUME_IS_IDEMPOTENT:
            finished = resumed_when_finished(self._bench, state)
            reference = dataclasses.replace(control.reference, finished_again=finished)
            control = dataclasses.replace(control, reference=reference)
            known = known and dataclasses.replace(known, reference=reference)
        evidence = evidence_of_replay(
            known or self._evidence(control, NOTHING_EXPLORED, source), contract, again
        )
        return self._shown_again(evidence, contract, printed_by([again]), {where: state}, source)

    def _replay_trial(
        self,
        control: Control,
        known: Evidence | None,
        contract: str,
        point_id: str,
        source: StateSource,
    ) -> Examination:
        known = known or self._evidence(control, NOTHING_EXPLORED, source)
        self._progress.phase(f"trying again: {point_id}")
        again = TrialsAgain(self._bench, control, source).again(contract, point_id, known)
        evidence = evidence_of_trial(known, again.trial, again.variants)
        printed = printed_by([], [again.trial])
        states = {again.trial.point: again.left}
        return self._shown_again(evidence, contract, printed, states, source)

    def _shown_again(
        self,
        evidence: Evidence,
        contract: str,
        printed: Mapping[CrashPoint, Printed],
        states: Mapping[CrashPoint, State],
        source: StateSource,
    ) -> Examination:
        """One contract, judged by what was replayed."""
        verdicts = judge_all(evidence, [CATALOGUE[contract]])
        return Examination(
            evidence=evidence,
            verdicts=verdicts,
            operations=len(source.operations),
            notes=tuple(self._notes),
            wrecks=keep_wrecks(self._keeper, verdicts, printed, states, source),
            folder=self._keeper.folder,
        )

    def _estimate(self, control: Control, planned: Plan, warmth: Warmth) -> str:
        reference = control.reference
        resume_s = (reference.run.wall_s + reference.finished_resume.wall_s) / 2
        one_s = max(0.0, resume_s + reference.check.wall_s - warmth.saves_s)
        return estimate(len(planned.states), "state", one_s, self._options)

    def _evidence(
        self, control: Control, exploration: Exploration, source: StateSource
    ) -> Evidence:
        unobservable = {}
        if control.unreadable:
            sentence = (
                "stores through a shared mapping could not be read, so its states are not known: "
                + ", ".join(control.unreadable)
            )
            unobservable = dict.fromkeys(
                [*RESTORED, Fault.CHANGED, Fault.STAGING_GONE, Fault.STORE_SLOW], sentence
            )
        subject = self._subject
        outputs = find_outputs(
            source.timeline, source.operations, subject.outputs, subject.ephemeral
        )
        return Evidence(
            subject=subject.name,
            capabilities=subject.capabilities,
            faults=faults_of(self._options, self._subject),
            not_applicable=self._subject.not_applicable,
            unobservable=unobservable,
            reference=control.reference,
            experiments=exploration.experiments,
            coverage=exploration.coverage,
            outputs=outputs.paths,
            partial_outputs=outputs.partial,
            markers_ahead=ahead_of(self._bench, control.reference, source),
            restart_ratio=self._options.restart_ratio,
            heartbeat=declared_heartbeat(subject),
        )

    def _judged(self, evidence: Evidence, source: StateSource, replays: Replays) -> Examination:
        verdicts = judge_all(evidence, contracts_of(self._options))
        operations = source.operations
        self._keeper.evidence(evidence)
        self._keeper.operations(operations)
        failed = (one.finding.point for verdict in verdicts.values() for one in verdict.failures)
        keep_needed(self._keeper.resumes, failed)
        self._keeper.objects()
        printed = printed_by(
            (*evidence.experiments, *evidence.replays), (*evidence.trials, *evidence.trial_replays)
        )
        return Examination(
            evidence=evidence,
            verdicts=verdicts,
            operations=len(operations),
            notes=tuple(self._notes),
            wrecks=keep_wrecks(self._keeper, verdicts, printed, replays.states(verdicts), source),
            folder=self._keeper.folder,
        )
