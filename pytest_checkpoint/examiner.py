"""How one subject is examined, in its slot: the phases one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from checkpoint_contracts import judge_all, trials_wanted
from checkpoint_contracts.evidence import Evidence, Fault, TrialKind
from checkpoint_contracts.litter import CLEANS_UP
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.groundwork import contracts_of, evidence_of, faults_of
from pytest_checkpoint.interruption import Before, as_interrupted, seen_so_far
from pytest_checkpoint.keeping.continued import CONTROL, ControlRun, Finished
from pytest_checkpoint.keeping.keep import Keeper, keep_wrecks, printed_by
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control, FirstRun, control_run
from pytest_checkpoint.phases.estimate import all_would_take, estimate
from pytest_checkpoint.phases.explore import ENDED, EXPLORED, Exploration, explore
from pytest_checkpoint.phases.faults.litter import left_behind
from pytest_checkpoint.phases.faults.planned import KINDS as FAULTS_TRIED
from pytest_checkpoint.phases.further import (
    DAMAGES,
    SECOND_CRASHES,
    keep_needed,
    takes_more,
    with_further,
)
from pytest_checkpoint.phases.logbook import Notes, once
from pytest_checkpoint.phases.replays import Replays
from pytest_checkpoint.phases.selfcheck import self_check
from pytest_checkpoint.phases.trying import NOTHING_TRIED, TRIALS_ENDED, Tried, start_fresh, try_all
from pytest_checkpoint.phases.warm import COLD, Warmth, doubt, try_warm
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.states.order import Plan, plan
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.subject import Subject

_DOUBTED = "warm starts doubted"


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
        self._keeper = Keeper.of(subject, options, client)
        self._notes = [f"workspace {client.workspace}", *notes]
        self._logbook: KeptLogbook | None = None
        self._known: Evidence | None = None
        """Before anything was explored."""
        self._planned: Plan | None = None

    def examine(self, first: FirstRun, definition: Mapping[str, str]) -> Examination:
        """From the recording on."""
        self._keeper.begin()
        control = control_run(self._bench, first, self._keeper.recording, self._progress)
        self._keeper.objects()
        logbook = KeptLogbook(self._keeper.folder)
        logbook.begin(
            Begun(
                session=self._options.session,
                subject=self._subject.name,
                definition=definition,
            )
        )
        with logbook:
            run = ControlRun.of(control, encloses=self._bench.known_checks.encloses)
            logbook.keep(CONTROL, run)
            return self._examined(control, logbook)

    def go_on(self, control: Control) -> Examination:
        """From where the logbook ends, with the control run that it tells of."""
        with KeptLogbook(self._keeper.folder) as logbook:
            run = logbook.recall(CONTROL, ControlRun)
            if run is not None and not run.encloses:  # the run that said so is not made again
                self._bench.known_checks.encloses = False
            before = Before.of(logbook)
            self._progress.estimate(before.told())
            examination = self._examined(control, logbook)
        told = before.told(examination.evidence)
        return dataclasses.replace(examination, notes=(told, *examination.notes))

    def _examined(self, control: Control, logbook: KeptLogbook) -> Examination:
        self._logbook = logbook
        self._notes += control.notes
        source = StateSource(control.recording, self._options.model)
        self._known = evidence_of(self._bench, control, source)
        kinds = trials_wanted(self._known, contracts_of(self._options))
        self._progress.phase("deriving crash states")
        planned = self._planned = plan(
            source,
            faults=self._faults,
            seed=self._options.seed,
            max_states=self._options.max_states,
            exhaustive=self._options.exhaustive,
        )
        warmth = self._tried_warm(control, source, kinds, planned)
        self._notes += once(
            logbook, "self-check", Notes, lambda: Notes(self._self_check(control, warmth))
        ).texts
        tried = self._tried(control, source, kinds, warmth)
        left = len(planned.states) - logbook.count(EXPLORED)
        if left and not logbook.count(ENDED):
            self._progress.estimate(self._estimate(control, left, warmth))
        replays = Replays(self._bench, control, source, self._progress)
        evidence = self._explored(control, source, planned, kinds, tried, replays, warmth)
        return self._judged(evidence, source, replays)

    @property
    def _faults(self) -> frozenset[Fault]:
        return faults_of(self._options, self._subject)

    def _self_check(self, control: Control, warmth: Warmth) -> tuple[str, ...]:
        points = self._options.self_check_points
        return self_check(self._bench, control, points, self._progress, warm=warmth.on)

    def _tried_warm(
        self, control: Control, source: StateSource, kinds: frozenset[TrialKind], planned: Plan
    ) -> Warmth:
        finished = source.timeline.after(source.timeline.steps)
        count = len(planned.states) + (len(source.operations) if kinds & set(FAULTS_TRIED) else 0)
        if takes_more(self._faults, self._subject):
            count += len(source.operations)
        warmth = try_warm(self._bench, control, finished, count, self._progress)
        self._notes += warmth.notes
        return warmth

    def _tried(
        self,
        control: Control,
        source: StateSource,
        kinds: frozenset[TrialKind],
        warmth: Warmth,
    ) -> Tried:
        """The trials of these kinds; and what killed attempts leave, where nobody judges that."""
        assert self._logbook is not None
        logbook = self._logbook
        if self._faults & {Fault.CRASH_LOOP} and CLEANS_UP not in self._subject.capabilities:
            with self._bench.warmly(on=warmth.on):
                left = once(
                    logbook,
                    "left behind",
                    Notes,
                    lambda: Notes(tuple(left_behind(self._bench, control, source))),
                )
            self._notes += left.texts
        return self._trials(control, source, kinds, warmth)

    def _trials(
        self,
        control: Control,
        source: StateSource,
        kinds: frozenset[TrialKind],
        warmth: Warmth,
    ) -> Tried:
        if not kinds:
            return NOTHING_TRIED
        assert self._logbook is not None
        logbook = self._logbook

        def try_them() -> Tried:
            return try_all(
                self._bench,
                control,
                source,
                kinds,
                self._progress,
                warm=warmth.on,
                saves_s=warmth.saves_s,
                logbook=logbook,
            )

        tried = once(logbook, TRIALS_ENDED, Tried, try_them)
        self._notes += tried.notes
        return tried

    def _explored(
        self,
        control: Control,
        source: StateSource,
        planned: Plan,
        kinds: frozenset[TrialKind],
        tried: Tried,
        replays: Replays,
        warmth: Warmth,
    ) -> Evidence:
        """All there is to judge by, with what failed replayed."""
        assert self._logbook is not None
        logbook = self._logbook

        def explored(warmth: Warmth) -> tuple[Exploration, Evidence, tuple[str, ...]]:
            seen = explore(
                self._bench, control, source, planned, self._progress, warmth, logbook=logbook
            )
            self._note_fall_back(warmth)
            notes = all_would_take(seen.coverage, seen.took_s, self._options)
            seen = self._with_further(control, source, seen, warmth)
            assert self._known is not None
            evidence = dataclasses.replace(
                self._known, experiments=seen.experiments, coverage=seen.coverage
            )
            evidence = replays.added_to(tried.added_to(evidence), contracts_of(self._options))
            return seen, evidence, notes

        def try_again() -> Tried:
            """What started warm there is as doubtful as what was explored."""
            start_fresh(logbook, Notes(()))
            self._notes = [note for note in self._notes if note not in tried.notes]
            return self._trials(control, source, kinds, COLD)

        doubted = logbook.recall(_DOUBTED, Notes)
        if doubted is None:
            exploration, evidence, notes = explored(warmth)
            doubtful = exploration.unlike or doubt(
                evidence, contracts_of(self._options), exploration.warm, control.deadlines
            )
            if doubtful is None:
                self._notes += notes
                return evidence
            note = (
                f"what was seen in a warm start (step {doubtful.step}, {doubtful.operation}) did "
                "not show in a fresh process: everything was explored again with fresh processes"
            )
            doubted = Notes((note,))
            # In this order: a kill between the two leaves nothing that started warm to be believed.
            logbook.forget(EXPLORED, ENDED, SECOND_CRASHES, DAMAGES)
            tried = try_again()
            logbook.keep(_DOUBTED, doubted)
        _, evidence, notes = explored(COLD)
        self._notes += (*doubted.texts, *notes)
        return evidence

    def _with_further(
        self, control: Control, source: StateSource, exploration: Exploration, warmth: Warmth
    ) -> Exploration:
        return with_further(
            self._bench,
            control,
            source,
            exploration,
            self._faults,
            self._progress,
            warmth,
            self._keeper.resumes,
            self._once,
        )

    def _once(self, name: str, make: Callable[[], Exploration]) -> Exploration:
        """Known as a whole, or made as a whole."""
        assert self._logbook is not None
        known = self._logbook.recall(name, Exploration)
        if known is None:
            known = dataclasses.replace(make(), keys=frozenset())
            self._keeper.objects()
            self._logbook.keep(name, known)
        return known

    def _note_fall_back(self, warmth: Warmth) -> None:
        why = self._bench.fell_back
        if warmth.on and why and not any(why in note for note in warmth.notes):
            self._notes.append(f"from some state on resumes and checks started fresh: {why}")

    def _estimate(self, control: Control, states: int, warmth: Warmth) -> str:
        reference = control.reference
        resume_s = (reference.run.wall_s + reference.finished_resume.wall_s) / 2
        one_s = max(0.0, resume_s + reference.check.wall_s - warmth.saves_s)
        return estimate(states, "state", one_s, self._options)

    def _judged(self, evidence: Evidence, source: StateSource, replays: Replays) -> Examination:
        verdicts = judge_all(evidence, contracts_of(self._options))
        operations = source.operations
        self._keeper.evidence(evidence)
        self._keeper.operations(operations)
        assert self._logbook is not None
        # Before any of their recordings goes: killed from here on, a failure that was not confirmed
        # could not be replayed. Then they are explored again.
        self._logbook.forget(SECOND_CRASHES)
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

    def keep_finished(self, examination: Examination) -> None:
        """It need not be made again if the session is interrupted in another subject."""
        if self._logbook is not None:
            self._logbook.finish(Finished.of(examination))

    def interrupted(self) -> Examination:
        """What was seen so far."""
        evidence = seen_so_far(
            self._subject, self._options, self._known, self._planned, self._logbook
        )
        return as_interrupted(evidence, contracts_of(self._options), self._notes)
