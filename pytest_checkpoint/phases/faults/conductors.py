"""Who makes the trials that are more, or other, than one run with a fault placed in it."""

from __future__ import annotations

from functools import cached_property
from typing import Final, Protocol

from checkpoint_contracts.evidence import Trial, TrialKind
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.bystanders.trials import Beside
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.effects.two import TwoSenders
from pytest_checkpoint.phases.faults.litter import Litter
from pytest_checkpoint.phases.faults.planned import PlannedFault
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

ALWAYS_FRESH: Final = frozenset({TrialKind.TWO_SENDERS})


class Conductor(Protocol):
    def find(self, step: int, variant: str) -> PlannedFault | None:
        """The one of this name; None: there is none such."""
        ...

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and a state that says most about it."""
        ...


class Conductors:
    """Of one subject; each is made when it is first asked for."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source

    @cached_property
    def litter(self) -> Litter:
        return Litter(self._bench, self._control, self._source)

    @cached_property
    def beside(self) -> Beside:
        return Beside(self._bench, self._control, self._source)

    @cached_property
    def two(self) -> TwoSenders:
        return TwoSenders(self._bench, self._control)

    def of(self, kind: TrialKind) -> Conductor | None:
        """None: it is a run with a fault placed in it."""
        match kind:
            case TrialKind.CRASH_LOOP:
                return self.litter
            case TrialKind.BYSTANDER:
                return self.beside
            case TrialKind.TWO_SENDERS:
                return self.two
            case _:
                return None
