"""Runs whose uploads the store lies about, fails at or refuses; and that are told to end then."""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.bucket import Bucket
from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.planned import PlannedFault
from pytest_checkpoint.phases.store.legs import StoreLegs
from pytest_checkpoint.phases.store.planned import UploadPlan
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.store.faults import StoreFault
from pytest_checkpoint.states.timeline import State

_TRIES: Final = 3
"""How often a run is made again whose fault did not fire."""


class Uploads:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._bench: Final = bench
        self._control: Final = control
        reference = control.reference
        bucket = reference.bucket or Bucket()
        self._plan: Final = UploadPlan(
            control.recording.operations,
            reference.requests,
            bucket.markers_in_bucket | bucket.ephemeral,
            bench.options.grace_s,
        )

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        return self._plan.planned(kind, exhaustive=exhaustive)

    def find(self, step: int, variant: str) -> PlannedFault | None:
        return self._plan.find(step, variant)

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, made again where its fault did not fire; and what its last leg left."""
        return self.again(planned, longer=False)

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same; ``longer``: with the deadline of a hang's replay."""
        made = self._once(planned, longer=longer)
        for _ in range(_TRIES - 1):
            shown = made[0].shown
            if made[0].hung or (shown is not None and shown.step is not None):
                break
            made = self._once(planned, longer=longer)
        return made

    def _once(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        deadlines, start = self._control.deadlines, self._control.start
        if longer:
            deadlines = deadlines.for_a_hang()
        legs = StoreLegs(self._bench, deadlines, start)
        action = planned.action
        result = legs.make(
            Command.RUN,
            self._bench.subject.run,
            fault=action if isinstance(action, StoreFault) else None,
            signal=action if isinstance(action, SignalAt) else None,
        )
        check = legs.check()
        if self._goes_on(planned.kind, legs.made[0], check):
            legs.resume()
            check = legs.check()
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=tuple(legs.made),
            check=check,
            shown=_shown(planned, result),
        )
        return trial, legs.left

    def _goes_on(self, kind: TrialKind, run: Leg, check: Execution | None) -> bool:
        """Whether it is resumed: not where the end of the run alone says all there is to say."""
        if not run.execution.usable or run.execution.timed_out or run.killed:
            return False
        wanted = self._control.reference.check.output
        ended_well = check is not None and check.succeeded and check.output == wanted
        match kind:
            case TrialKind.STORE_FAILS_ONCE:
                return False  # it should have tried again by itself
            case TrialKind.STORE_LIES | TrialKind.STORE_SIGNALLED:
                return not ended_well  # exit 0 with work left is no lie by itself
            case _:
                return run.stopped


def _shown(planned: PlannedFault, result: Result) -> Shown:
    action = planned.action
    number = action.number if isinstance(action, SignalAt) else 0
    return Shown(step=result.fired_at, grace_over=result.grace_over, number=number)
