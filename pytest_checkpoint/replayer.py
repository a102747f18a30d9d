"""One experiment, or trial, of a subject made again, and one contract judged by it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from checkpoint_contracts import RESUME_IS_IDEMPOTENT, judge_all
from checkpoint_contracts.evidence import CrashPoint, Evidence, Fault
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.groundwork import evidence_of
from pytest_checkpoint.keeping.keep import Keeper, Printed, keep_wrecks, printed_by
from pytest_checkpoint.keeping.kept import evidence_of_replay, evidence_of_trial
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.conduct import conduct, hung, looks_of, told
from pytest_checkpoint.phases.control import (
    Control,
    FirstRun,
    control_run,
    resumed_when_finished,
)
from pytest_checkpoint.phases.further import make_known
from pytest_checkpoint.phases.replays import require_state, same_point
from pytest_checkpoint.phases.second_crash.spent import told_spent
from pytest_checkpoint.phases.trials_again import TrialsAgain
from pytest_checkpoint.phases.trying import is_trial
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject


class Replayer:
    """Of one subject in one slot."""

    def __init__(
        self,
        subject: Subject,
        options: Options,
        progress: Progress,
        client: SlotClient,
        *notes: str,
    ) -> None:
        self._options = options
        self._progress = progress
        self._bench = Bench(client, subject, options)
        self._keeper = Keeper.of(subject, options, client)
        self._notes = [f"workspace {client.workspace}", *notes]

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
        if is_trial(self._options.catalogue[contract], point_id):
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
            known or evidence_of(self._bench, control, source), contract, again
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
        known = known or evidence_of(self._bench, control, source)
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
        verdicts = judge_all(evidence, [self._options.catalogue[contract]])
        return Examination(
            evidence=evidence,
            verdicts=verdicts,
            operations=len(source.operations),
            notes=tuple(self._notes),
            wrecks=keep_wrecks(self._keeper, verdicts, printed, states, source),
            folder=self._keeper.folder,
        )
