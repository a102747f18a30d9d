"""Every crash state of one recording, by name: what it holds, and what to call it."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple, Protocol

from checkpoint_contracts.evidence import CrashPoint, Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.kill import CrashState, materialize, point
from pytest_checkpoint.states.power_loss.crashes import PowerLoss
from pytest_checkpoint.states.power_loss.losses import Loss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import State, Timeline

_FURTHER: Final = frozenset({Fault.SECOND_CRASH, Fault.DAMAGE})


class LossWords(NamedTuple):
    """What a power loss took; empty of any other crash."""

    lost: tuple[str, ...] = ()
    missing_syncs: tuple[str, ...] = ()
    missing_kinds: tuple[str, ...] = ()


class Further(Protocol):
    """Who knows the states of a fault that takes more than the recording of the run."""

    def state(self, crash: CrashState) -> State: ...

    def point(self, crash: CrashState) -> CrashPoint: ...


class StateSource:
    """The crash states of a recording, under one persistence model."""

    def __init__(self, recording: Recording, model: Model) -> None:
        """HarnessError if the recording contradicts itself."""
        self.operations: Final = recording.operations
        self.model: Final = model
        self.timeline: Final = Timeline(
            recording.start,
            recording.start_events,
            recording.operations,
            recording.start_effects,
            recording.start_objects,
        )
        self.recording: Final = recording
        self._losses: dict[CrashState, Loss] = {}
        self.further: Final[dict[Fault, Further]] = {}
        """Fault → who is asked for its states: of resumes that crash, and of damages."""

    @cached_property
    def power(self) -> PowerLoss:
        """Made only when power losses are asked for: it costs another pass."""
        start, events = self.recording.start, self.recording.start_events
        return PowerLoss(start, events, self.operations, self.model, timeline=self.timeline)

    def power_losses(self, step: int, cap: int | None) -> list[tuple[CrashState, bytes]]:
        """The losses after a step, most telling first, each with the key of its state."""
        found = []
        for loss in self.power.losses(step, cap):
            crash = CrashState(Fault.POWER_LOSS, step, loss.variant)
            self._losses[crash] = loss
            found.append((crash, loss.key))
        return found

    def state(self, crash: CrashState) -> State:
        """What the crash left. UserError if the recording has no such power loss."""
        if crash.fault is Fault.POWER_LOSS:
            return self.power.state(crash.step, self._loss(crash))
        if crash.fault in _FURTHER:
            return self._further(crash).state(crash)
        return materialize(crash, self.timeline)

    def point(self, crash: CrashState) -> CrashPoint:
        """The crash in the words of the evidence."""
        if crash.fault in _FURTHER:
            return self._further(crash).point(crash)
        return point(crash, self.operations)

    def words(self, crash: CrashState) -> LossWords:
        if crash.fault is not Fault.POWER_LOSS:
            return LossWords()
        loss = self._loss(crash)
        return LossWords(
            self.power.describe(crash.step, loss),
            self.power.missing_syncs(crash.step, loss),
            self.power.missing_kinds(crash.step, loss),
        )

    def _further(self, crash: CrashState) -> Further:
        known = self.further.get(crash.fault)
        if known is None:
            raise UserError(
                f"{crash.step}.{crash.variant} takes more than this recording, and that is not kept"
            )
        return known

    def _loss(self, crash: CrashState) -> Loss:
        loss = self._losses.get(crash)
        if loss is None:
            loss = self._losses[crash] = self.power.loss(crash.step, crash.variant)
        return loss
