"""One run with a fault, and what the job made of it: the resume without the fault, the check."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Execution, Trial, TrialKind
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.planned import PlannedFault
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.drift import drift
from pytest_checkpoint.record.faults import CLOSE, Injection, LostReply, Room, SignalAt
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.timeline import State

_UNRECORDED: Final = (TrialKind.NO_SPACE, TrialKind.STAGING_FULL)
TRIES: Final = 3
"""How often a run is made again whose fault did not fire, or that came to it another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducted:
    """A trial, and what else is known of its run."""

    trial: Trial
    recording: Recording | None
    """Of the run with the fault; None: of a full disk, which needs none."""
    left: State
    """What that run left."""
    result: Result = field(default_factory=Result)
    """Of that run."""
    room: str = ""
    """The real file system that it had, in words."""
    no_room: str = ""
    """Why it had none, although that was asked for: then there is nothing to be judged."""


class Faulty:
    """Runs with a fault, of one subject."""

    def __init__(self, bench: Bench, control: Control, deadlines: Deadlines | None = None) -> None:
        """``deadlines``: others than those of every resume, for the replay of a hang."""
        self.bench: Final = bench
        self.control: Final = control
        self.deadlines: Final = deadlines or control.deadlines
        self._has_stages: Final = bool(stage_names(control.reference.events))
        self._closes: tuple[Operation, ...] | None = None

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.control.recording.operations

    def closes(self) -> tuple[Operation, ...]:
        """The operations of another undisturbed run, its closes among them; none if it failed."""
        if self._closes is None:
            self.bench.put(self.control.start)
            folder = self._folder("closes")
            deadline_s = self.bench.options.run_deadline_s
            _, execution = self.bench.faulted(
                self.bench.subject.run, deadline_s, recording=folder, watch_closes=True
            )
            self._closes = journal.load(folder).operations if execution.succeeded else ()
        return self._closes

    def patient(self) -> Faulty:
        """The same, with the deadlines of a hang's replay."""
        other = Faulty(self.bench, self.control, self.control.deadlines.for_a_hang())
        other._closes = self._closes
        return other

    def conduct(self, planned: PlannedFault) -> Conducted:
        """The trial, made again where its fault did not fire; of the tries the last."""
        made = self._once(planned)
        for _ in range(TRIES - 1):
            shown = made.trial.shown
            assert shown is not None
            if planned.kind is not TrialKind.IO_ERROR or made.trial.hung:
                break
            if shown.step is not None and not shown.drift:
                break
            made = self._once(planned)
        return made

    def _once(self, planned: PlannedFault) -> Conducted:
        bench, start = self.bench, self.control.start
        # Before that run, since it may be one itself: what this one leaves is looked at next.
        recorded = self._recorded(planned)
        bench.put(start)
        folder = None if planned.kind in _UNRECORDED else self._folder("faulted")
        result, run = self._run(planned, folder)
        leg = Leg(
            command=Command.RUN,
            execution=run,
            events=bench.new_events(start.events),
            effects=bench.new_effects(start.effects),
            requests=requests_of(result.requests),
            objects=objects_of(bench.client.objects.read_bytes()),
        )
        recording = None if folder is None else journal.load(folder)
        left = bench.state()
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            shown=self._shown(planned, result, recording, recorded),
        )
        no_room = result.no_real_room or ""
        if not no_room:
            trial = self._gone_on(trial, left)
        room = result.real_room or ""
        return Conducted(
            trial=trial,
            recording=recording,
            left=left,
            result=result,
            room=room,
            no_room=no_room,
        )

    def _run(self, planned: PlannedFault, folder: Path | None) -> tuple[Result, Execution]:
        action, deadline_s = planned.action, self.deadlines.resume_s
        if isinstance(action, SignalAt):
            deadline_s += action.grace_s
        return self.bench.faulted(
            self.bench.subject.run,
            deadline_s,
            injection=action if isinstance(action, Injection) else None,
            room=action if isinstance(action, Room) else None,
            signal=action if isinstance(action, SignalAt) else None,
            lost_reply=action if isinstance(action, LostReply) else None,
            recording=folder,
            watch_closes=isinstance(action, Injection) and action.call == CLOSE,
        )

    def _recorded(self, planned: PlannedFault) -> Sequence[Operation]:
        """The undisturbed run that one with this fault is held against."""
        action = planned.action
        is_close = isinstance(action, Injection) and action.call == CLOSE
        return self.closes() if is_close else self.operations

    def _shown(
        self,
        planned: PlannedFault,
        result: Result,
        recording: Recording | None,
        recorded: Sequence[Operation],
    ) -> Shown:
        action = planned.action
        different = None
        if isinstance(action, Injection) and recording is not None:
            place = result.fired_at or len(recording.operations)
            different = drift(recorded, recording.operations, place)
        return Shown(
            step=result.fired_at,
            drift=different or "",
            grace_over=result.grace_over,
            number=action.number if isinstance(action, SignalAt) else 0,
            real=result.real_room is not None,
        )

    def _gone_on(self, trial: Trial, left: State) -> Trial:
        """With the check, or the resume and the check, that the end of the run asks for."""
        run = trial.legs[0].execution
        if not run.usable or run.timed_out:
            return trial
        if not run.succeeded:
            return self.resumed(trial, left)
        check = self.bench.check(self.deadlines.check_s)
        trial = dataclasses.replace(trial, check=check)
        if not self._has_stages or not check.succeeded:
            return trial
        self.bench.put(left)
        return dataclasses.replace(trial, legs=(*trial.legs, self.resume(left)))

    def resumed(self, trial: Trial, left: State) -> Trial:
        """With the resume, and the check after it; the slot holds ``left``."""
        resume = self.resume(left)
        check = None
        if resume.execution.succeeded:
            check = self.bench.check(self.deadlines.check_s)
        return dataclasses.replace(trial, legs=(*trial.legs, resume), check=check)

    def resume(self, left: State) -> Leg:
        """As often as the subject says it may take."""
        execution = self.bench.resume(self.deadlines.resume_s)
        for _ in range(self.bench.subject.resume_attempts - 1):
            if execution.succeeded or not execution.usable:
                break
            execution = self.bench.resume(self.deadlines.resume_s)
        return Leg(
            command=Command.RESUME,
            execution=execution,
            events=self.bench.new_events(left.events),
            effects=self.bench.new_effects(left.effects),
        )

    def _folder(self, name: str) -> Path:
        """Empty: what an earlier recording there mapped stays whole as long as it is needed."""
        folder = self.bench.client.scratch / name
        remove_tree(folder)
        return folder


def after_crash(faulted: Trial, where: CrashPoint, kind: TrialKind, state: State) -> Trial:
    """The run of a trial that has crashed later: its events are those up to the crash."""
    run = faulted.legs[0]
    lines = lines_of(state.events)
    events = lines[len(faulted.events_before) :]
    return Trial(
        point=where,
        kind=kind,
        events_before=faulted.events_before,
        legs=(dataclasses.replace(run, events=events, killed=True),),
        shown=faulted.shown,
    )
