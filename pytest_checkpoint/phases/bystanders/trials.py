"""Resumes from some kill states, each beside bystanders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.bystanders.files import BystanderFiles
from pytest_checkpoint.phases.bystanders.process import bystander
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

MOST: Final = 8
"""Kill states, unless all are wanted."""


class Beside:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._files: Final = BystanderFiles(bench, control.recording)

    def planned(self, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """First, last and middle ones first; and how many different states there are."""
        steps = self._steps()
        places = spread(len(steps))
        wanted = places if exhaustive else places[:MOST]
        return [self._at(steps[index]) for index in wanted], len(steps)

    def find(self, step: int, variant: str) -> PlannedFault | None:
        known = variant == TrialKind.BYSTANDER.value and step <= self._source.timeline.steps
        return self._at(step) if known else None

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and the state that was resumed from."""
        bench, deadline_s = self._bench, self._control.deadlines.resume_s
        state = self._source.state(kill_state(planned.point.step))
        bench.put(state)
        self._files.plant()
        with bystander(bench, bench.subject.resume) as process:
            execution = bench.resume(deadline_s, bystanders=(process.number,))
            for _ in range(bench.subject.resume_attempts - 1):
                if execution.succeeded or not execution.usable:
                    break
                execution = bench.resume(deadline_s, bystanders=(process.number,))
            harmed = list(self._files.harmed())
            if not execution.strayed and not process.answers():
                harmed.append("the process beside it does not go on")
        leg = Leg(
            command=Command.RESUME,
            execution=execution,
            events=bench.new_events(state.events),
            effects=bench.new_effects(state.effects),
        )
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(state.events),
            legs=(leg,),
            harmed=tuple(harmed),
        )
        return trial, state

    def _steps(self) -> Sequence[int]:
        """After each of them a kill leaves another state."""
        timeline = self._source.timeline
        first = {timeline.key(step): step for step in range(timeline.steps, -1, -1)}
        return sorted(first.values())

    def _at(self, step: int) -> PlannedFault:
        kind = TrialKind.BYSTANDER
        where = "before the first operation"
        if step:
            where = f"after step {step} ({describe(self._source.operations[step - 1])})"
        words = f"killed {where} and resumed beside others"
        return PlannedFault(
            kind=kind,
            point=point(kind, step, kind.value, words, words, self._source.timeline.steps),
            action=None,
            covers=words,
        )
