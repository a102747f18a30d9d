"""One trial: a run that is stopped, killed, slowed or blocked, and asked after meanwhile."""

from __future__ import annotations

import dataclasses
import signal
from contextlib import nullcontext
from typing import Final

from checkpoint_contracts.alive_not_progress import alive_is_not_progress
from checkpoint_contracts.evidence import Evidence, Fault, Trial, TrialKind
from checkpoint_contracts.heartbeat import DEAD, Watch, Word
from checkpoint_contracts.slow_not_stale import HELD_FACTOR, slow_is_not_stale
from checkpoint_contracts.stale_heartbeat import stale_heartbeat_is_noticed
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.tried import unusable
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.conduct import Faulty
from pytest_checkpoint.phases.liveness import clock
from pytest_checkpoint.phases.liveness.asking import Bounds, answer, declared
from pytest_checkpoint.phases.liveness.load import loaded
from pytest_checkpoint.phases.liveness.planned import (
    WHOLE_RUN,
    PlannedWatch,
    is_of_one_process,
)
from pytest_checkpoint.phases.liveness.reused import reused
from pytest_checkpoint.phases.liveness.watched import Asked, Watched, watched
from pytest_checkpoint.record.companion.plan import Report, Then, When
from pytest_checkpoint.record.faults import HoldAt, SignalAt
from pytest_checkpoint.states.timeline import State

CONTRACTS: Final = (stale_heartbeat_is_noticed, slow_is_not_stale, alive_is_not_progress)
TRIES: Final = 3
"""How often a trial is made again whose fault did not fire, or in which we did not get to run."""
_ANSWERS: Final = 3
"""It is asked after for so many answers longer than it has time for: the last is cut short."""
_SLOW_SHARE: Final = 20
"""A slow call takes this part of stale_after_s longer: a beat is several calls."""
_SLOWEST_RUN_S: Final = 10.0
"""All slow calls of a run together take about so long, at most."""


class Conductor:
    """Makes trials of one subject. All start fresh."""

    def __init__(self, bench: Bench, control: Control, bounds: Bounds) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._bounds: Final = bounds
        self._faulty: Final = Faulty(bench, control)
        self._alone: Final = is_of_one_process(control.recording.operations, bench.subject)

    def conduct(self, planned: PlannedWatch, *, longer: bool = False) -> tuple[Trial, State]:
        """The trial, and what its run left; of tries that say nothing the last.

        ClockNotSetError if the job keeps its own clock.

        ``longer``: with the deadline of a hang's replay.
        """
        alone, tries = self._alone, TRIES
        while True:
            seen, trial = self._once(planned, longer=longer, alone=alone)
            left = self._bench.state()
            if planned.kind is TrialKind.STOPPED:
                trial = self._gone_on(trial, left)
            if planned.kind is TrialKind.DEAD and alone and not _died(seen):
                alone = False  # another process than the first was killed: the job may go on
                continue
            tries -= 1
            if not tries or trial.hung or not self._says_nothing(trial):
                return trial, left

    def _says_nothing(self, trial: Trial) -> bool:
        """Whether nothing may be concluded from it: the fault did not fire, say."""
        contract = next(one for one in CONTRACTS if trial.kind in one.kinds)
        known = Evidence(
            subject=self._bench.subject.name,
            capabilities=self._bench.subject.capabilities,
            faults=frozenset(Fault),
            heartbeat=declared(self._bench.subject),
        )
        if unusable(trial) is not None:
            return True
        return isinstance(contract.look(trial, known, self._control.reference), str)

    def _once(
        self, planned: PlannedWatch, *, longer: bool, alone: bool
    ) -> tuple[Watched | None, Trial]:
        """What was seen of the run, where it had a launcher, and the trial."""
        bench, start = self._bench, self._control.start
        deadlines = self._control.deadlines
        if planned.kind is TrialKind.REUSED:
            deadline_s = (deadlines.for_a_hang() if longer else deadlines).resume_s
            return None, reused(bench, self._control, self._bounds, planned, deadline_s)
        bench.put(start)
        whole = planned.kind in WHOLE_RUN
        asked = self._asked(
            planned, deadlines.for_a_hang() if longer or whole else deadlines, alone
        )
        load = loaded() if planned.kind is TrialKind.LOADED else nullcontext()
        with load:
            seen = watched(bench, asked)
        if asked.clock_behind and seen.report is not None:
            clock.require_set(seen.report)
        leg = Leg(
            command=Command.RUN,
            execution=seen.execution,
            events=bench.new_events(start.events),
            killed=asked.then is Then.KILL and seen.report is not None,
        )
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            shown=Shown(
                step=0 if whole else seen.fired_at,
                number=asked.signal.number if asked.signal else 0,
            ),
            watch=None if seen.report is None else self._watch(planned.kind, seen, seen.report),
        )
        return seen, trial

    def _asked(self, planned: PlannedWatch, deadlines: Deadlines, alone: bool) -> Asked:
        bounds, kind = self._bounds, planned.kind
        run_s = deadlines.resume_s
        asked = Asked(
            when=When.TOLD,
            then=Then.KILL,
            deadline_s=run_s,
            beside_s=run_s,
            every_s=bounds.every_s,
            until=(Word.STALE,),
            mark=planned.mark,
        )
        if kind in WHOLE_RUN:
            slow_s = self._slow_s() if kind is TrialKind.SLOW_CALLS else 0.0
            return dataclasses.replace(
                asked,
                when=When.THROUGHOUT,
                then=Then.CONTINUE,
                until=None,
                slow_s=slow_s,
                clock_behind=kind is TrialKind.CLOCK_SET,
            )
        if kind in (TrialKind.STOPPED, TrialKind.DEAD):
            stops = kind is TrialKind.STOPPED
            beside_s = bounds.stale_s + bounds.every_s + _ANSWERS * bounds.answer_s
            sent = SignalAt(
                step=0,
                number=signal.SIGSTOP if stops else signal.SIGKILL,
                grace_s=2 * run_s + beside_s,
                whom="caller" if alone else "group" if stops else "job",
            )
            return dataclasses.replace(
                asked,
                then=Then.CONTINUE if stops else Then.KILL,
                deadline_s=run_s + beside_s,
                beside_s=beside_s,
                signal=sent,
            )
        hold_s = self._lasts_s(kind) + bounds.every_s
        return dataclasses.replace(
            asked,
            deadline_s=run_s + hold_s,
            beside_s=hold_s,
            until=DEAD if kind is TrialKind.HELD else (*DEAD, Word.STALLED),
            hold=HoldAt(step=0, seconds=hold_s + bounds.every_s),
        )

    def _lasts_s(self, kind: TrialKind) -> float:
        """How long a call has to be held at least."""
        if kind is TrialKind.HELD:
            return HELD_FACTOR * self._bounds.source.stale_after_s
        if kind is TrialKind.BLOCKED:
            return self._bounds.stalled_s + _ANSWERS * self._bounds.answer_s
        return 0.0

    def _slow_s(self) -> float:
        """How much longer each call takes."""
        calls = max(1, len(self._control.recording.operations))
        return min(self._bounds.source.stale_after_s / _SLOW_SHARE, _SLOWEST_RUN_S / calls)

    def _watch(self, kind: TrialKind, seen: Watched, report: Report) -> Watch:
        bounds = self._bounds
        stalled = kind is TrialKind.BLOCKED
        promised_s = bounds.source.stalled_after_s if stalled else bounds.source.stale_after_s
        slack_s = bounds.slack_s(promised_s or bounds.source.stale_after_s)
        since_s = report.first.begin if report.met is None else report.met
        over_s = report.first.end - since_s
        if kind in (TrialKind.STOPPED, TrialKind.DEAD):
            over_s = (report.released or report.first.end) - since_s
        elif kind is TrialKind.HELD:  # the last question may be cut short with the hold
            over_s = min(over_s, self._lasts_s(kind))
        bound_s = bounds.stalled_s if stalled else bounds.stale_s
        ends_s = over_s if kind is TrialKind.HELD else bound_s
        noticing = kind in (TrialKind.STOPPED, TrialKind.DEAD, TrialKind.BLOCKED)
        return Watch(
            answers=tuple(
                answer(self._bench, ran, since_s)
                for ran in report.beside
                if not ran.timed_out or ran.begin - since_s < ends_s
            ),
            bound_s=bound_s,
            slack_s=slack_s,
            over_s=over_s,
            starved_s=seen.starved_s,
            patience_s=slack_s / 2 if noticing else bounds.patience_s,
            answer_s=bounds.answer_s,
            lasts_s=self._lasts_s(kind),
        )

    def _gone_on(self, trial: Trial, left: State) -> Trial:
        """With the check, or the resume and the check, that the end of the run asks for."""
        run = trial.legs[0].execution
        if not run.usable or run.timed_out:
            return trial
        if not run.succeeded:
            return self._faulty.resumed(trial, left)
        check = self._bench.check(self._control.deadlines.check_s)
        return dataclasses.replace(trial, check=check)


def _died(seen: Watched | None) -> bool:
    """Whether the job's first process was the one that was killed, or it was not killed at all.

    Who outlives that is killed too, when the asking is over: that is not meant.
    """
    if seen is None or seen.fired_at is None or seen.report is None:
        return True
    over = seen.report.released
    in_time = over is None or seen.report.first.end < over
    return seen.execution.signal == signal.SIGKILL and in_time
