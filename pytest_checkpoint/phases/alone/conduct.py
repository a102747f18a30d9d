"""One trial: two starts on one workspace, or a start after the owner's death."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path
from typing import Any, Final

from checkpoint_contracts.evidence import Evidence, Execution, Fault, Trial, TrialKind
from checkpoint_contracts.one_writer import one_writer
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.tried import unusable
from pytest_checkpoint.phases.alone.numbers import taken
from pytest_checkpoint.phases.alone.pair import Both, both
from pytest_checkpoint.phases.alone.planned import PlannedPair
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.conduct import Faulty
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.companion.plan import MARGIN_S, Plan, Report, When
from pytest_checkpoint.record.faults import AsideAt, SignalAt
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.timeline import State, Timeline

_TRIES: Final = 3
"""How often a trial is made again whose fault did not fire."""
_AGAIN_AT_ONCE: Final = 20
"""How often two starts at the same instant are made again, to see once more what they showed."""


def is_one_by_one(kind: TrialKind) -> bool:
    """Whether the second starts when the first is dead."""
    return kind in (TrialKind.DEAD_HOLDER, TrialKind.NUMBER_REUSED)


class Conductor:
    """Makes trials of one subject. What runs side by side starts fresh."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._two_commands: Final = bench.subject.resume != bench.subject.run

    def conduct(self, planned: PlannedPair, *, longer: bool = False) -> tuple[Trial, State]:
        """The trial, and what it left. ``longer``: the first has a hang's deadline."""
        trial, left = self._once(planned, longer=longer)
        for _ in range(_TRIES - 1):
            if trial.shown is None or trial.shown.step is not None or trial.hung:
                break
            trial, left = self._once(planned, longer=longer)
        return trial, left

    def again(self, planned: PlannedPair, *, longer: bool) -> tuple[Trial, State]:
        """The same once more. What chance shows is looked for a while."""
        trial, left = self.conduct(planned, longer=longer)
        more = _AGAIN_AT_ONCE - 1 if planned.kind is TrialKind.SAME_INSTANT else 0
        for _ in range(more):
            if self.shows_something(trial):
                break
            trial, left = self.conduct(planned, longer=longer)
        return trial, left

    def shows_something(self, trial: Trial) -> bool:
        """Whether a promise is broken, or nothing can be said by it."""
        known = Evidence(
            subject=self._bench.subject.name,
            capabilities=self._bench.subject.capabilities,
            faults=frozenset(Fault),
            reference=self._control.reference,
        )
        return unusable(trial) is not None or bool(
            one_writer.look(trial, known, self._control.reference)
        )

    def _once(self, planned: PlannedPair, *, longer: bool) -> tuple[Trial, State]:
        if is_one_by_one(planned.kind):
            return self._death(planned, longer=longer)
        deadlines = self._control.deadlines
        first_s = (deadlines.for_a_hang() if longer else deadlines).resume_s
        second_s = deadlines.resume_s
        bench, start = self._bench, self._control.start
        bench.put(start)
        plan = Plan(
            first=bench.expanded(bench.subject.run),
            beside=bench.expanded(bench.subject.resume if planned.resumes else bench.subject.run),
            working_directory=str(bench.subject.working_directory),
            when=_when(planned),
            aside=planned.side != "after",
            crosses=planned.side == "late",
            deadline_s=first_s + 2 * second_s,
            beside_deadline_s=second_s,
        )
        seen = both(bench, plan, self._folder(), **_stand(planned, plan.deadline_s))
        return self._of_both(planned, seen)

    def _folder(self) -> Path:
        folder = self._bench.client.scratch / "both"
        remove_tree(folder)
        return folder

    def _of_both(self, planned: PlannedPair, seen: Both) -> tuple[Trial, State]:
        bench, start = self._bench, self._control.start
        left = bench.state()
        if seen.crossed and seen.second is not None:
            # Who took the workspace is the first, though it began later.
            seen = dataclasses.replace(seen, first=seen.second, second=seen.first)
        leg = Leg(
            command=Command.RUN,
            execution=seen.first,
            events=bench.new_events(start.events),
        )
        together = planned.kind is TrialKind.SAME_INSTANT
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            shown=Shown(step=0 if together else seen.result.fired_at),
        )
        if seen.second is None or seen.report is None:
            return trial, left
        ended = (seen.first, seen.second)
        if any(one.succeeded for one in ended) and not any(one.timed_out for one in ended):
            trial = dataclasses.replace(trial, check=self._check())
        pair = self._pair(planned, seen, seen.second, seen.report, left)
        return dataclasses.replace(trial, pair=pair), left

    def _pair(
        self, planned: PlannedPair, seen: Both, second: Execution, report: Report, left: State
    ) -> Pair:
        together = planned.kind is TrialKind.SAME_INSTANT
        begin = len(self._control.start.events)
        pair = Pair(
            second=second,
            together=together,
            resumes=planned.resumes,
            same_command=not self._two_commands,
            later=lines_of(left.events[begin:]),
            operations_all=seen.result.operations,
        )
        if together:
            return pair
        ran, events = report.beside[0], left.events
        stood, ended = ran.events_before, ran.events_after
        before, meanwhile = events[begin:stood], events[stood:ended]
        if seen.crossed:
            stands, ended = report.crossed_events, report.first.events_after
            before, meanwhile = events[stood:stands], events[begin:stood] + events[stands:ended]
        pair = dataclasses.replace(
            pair,
            before=lines_of(before),
            meanwhile=lines_of(meanwhile),
            later=lines_of(events[ended:]),
        )
        return self._looked_at_then(pair, seen, report) if second.succeeded else pair

    def _looked_at_then(self, pair: Pair, seen: Both, report: Report) -> Pair:
        """With the check on what lay there when the first went on, and what it did then."""
        assert report.released is not None
        recording = journal.load(self._bench.client.scratch / "both")
        released_ns = int(report.released * 1e9) - seen.result.started_ns
        until = sum(one.time_ns <= released_ns for one in recording.operations)
        later = [one for one in recording.operations[until:] if not one.is_event]
        timeline = Timeline(
            recording.start,
            recording.start_events,
            recording.operations,
            recording.start_effects,
            recording.start_objects,
        )
        self._bench.put(timeline.after(until))
        return dataclasses.replace(pair, then=self._check(), operations_later=len(later))

    def _check(self) -> Execution:
        return self._bench.check(self._control.deadlines.check_s)

    # --- a dead owner ---

    def _death(self, planned: PlannedPair, *, longer: bool) -> tuple[Trial, State]:
        deadlines = self._control.deadlines
        faulty = Faulty(self._bench, self._control, deadlines.for_a_hang() if longer else deadlines)
        trial, left, numbers = self._killed(planned, faulty)
        if trial.shown is None or trial.shown.step is None:
            return trial, left
        if planned.kind is TrialKind.DEAD_HOLDER:
            return faulty.resumed(trial, left), left
        with taken(numbers) as ours:
            if not ours:
                return dataclasses.replace(trial, shown=Shown()), left
            reused = faulty.resumed(trial, left)
        if reused.legs[-1].execution.succeeded:
            return reused, left
        self._bench.put(left)
        alone = faulty.resumed(trial, left)
        return dataclasses.replace(reused, unspoilt=alone.legs[1:]), left

    def _killed(self, planned: PlannedPair, faulty: Faulty) -> tuple[Trial, State, set[int]]:
        """A run that is killed; and which numbers its processes had."""
        bench, start = self._bench, self._control.start
        bench.put(start)
        folder = self._folder()
        result = bench.killed(planned.point.step, faulty.deadlines.resume_s, folder)
        left = bench.state()
        leg = Leg(
            command=Command.RUN,
            execution=bench.execution(result),
            events=bench.new_events(start.events),
            killed=result.killed_at is not None,
        )
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            shown=Shown(step=result.killed_at),
        )
        return trial, left, {one.process for one in journal.load(folder).operations}


def _when(planned: PlannedPair) -> When:
    if planned.kind is TrialKind.SAME_INSTANT:
        return When.TOGETHER
    return When.STOPPED if planned.side == "after" else When.TOLD


def _stand(planned: PlannedPair, deadline_s: float) -> dict[str, Any]:
    """What of a request brings the first to a stand."""
    if planned.kind is TrialKind.SAME_INSTANT:
        return {}
    step = planned.point.step
    aside = {} if planned.side == "after" else {"aside": AsideAt(step=step)}
    if planned.side == "before":
        return aside
    if planned.side == "late":
        step += planned.stands - 1  # one has made all before its own, the other all up to its own
    grace_s = deadline_s + 2 * MARGIN_S  # the launcher has ended it long before
    stop = SignalAt(step=step, number=signal.SIGSTOP, grace_s=grace_s, whom="job")
    return {"signal": stop, **aside}
