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
from pytest_checkpoint.phases.shards.trials import Shards
from pytest_checkpoint.phases.staging.full import FullStaging
from pytest_checkpoint.phases.staging.gone import GoneStaging
from pytest_checkpoint.phases.staging.slow import SlowStore
from pytest_checkpoint.phases.store.reconciling import Reconciling
from pytest_checkpoint.phases.store.uploads import Uploads
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_STORE: Final = frozenset(
    {
        TrialKind.STORE_LIES,
        TrialKind.STORE_SIGNALLED,
        TrialKind.STORE_FAILS_ONCE,
        TrialKind.STORE_FAILS,
        TrialKind.STORE_REFUSES,
    }
)
_STAGING: Final = frozenset(
    {
        TrialKind.STAGING_FULL,
        TrialKind.STAGING_GONE,
        TrialKind.STAGING_LEFT,
        TrialKind.STORE_HEALTHY,
        TrialKind.STORE_SLOW,
        TrialKind.STORE_STALLED,
        TrialKind.STORE_RECOVERS,
    }
)
_WARM: Final = frozenset(
    {TrialKind.CRASH_LOOP, TrialKind.BYSTANDER, TrialKind.RECONCILED, *_STORE, *_STAGING}
)
"""Of the trials that are made here those that may start warm."""


def is_fresh(kind: TrialKind) -> bool:
    """Whether all that is started for a trial that is made here starts fresh."""
    return kind not in _WARM


class Conductor(Protocol):
    def find(self, step: int, variant: str) -> PlannedFault | None:
        """The one of this name; None: there is none such."""
        ...

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and a state that says most about it."""
        ...


class Family(Protocol):
    """Some kinds of trials that are planned, made and made again by one object."""

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """Those of one kind in the order in which to try them; and how many there are in all."""
        ...

    def find(self, step: int, variant: str) -> PlannedFault | None:
        """The one of this name; None: there is none such."""
        ...

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and a state that says most about it."""
        ...

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same once more; what chance has shown is looked for a while.

        ``longer``: with the deadline of a hang's replay.
        """
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

    @cached_property
    def shards(self) -> Shards:
        return Shards(self._bench, self._control)

    @cached_property
    def full_staging(self) -> FullStaging:
        return FullStaging(self._bench, self._control)

    @cached_property
    def gone_staging(self) -> GoneStaging:
        return GoneStaging(self._bench, self._control, self._source)

    @cached_property
    def uploads(self) -> Uploads:
        return Uploads(self._bench, self._control)

    @cached_property
    def reconciling(self) -> Reconciling:
        return Reconciling(self._bench, self._control, self._source)

    @cached_property
    def slow_store(self) -> SlowStore:
        return SlowStore(self._bench, self._control, self._source)

    def family(self, kind: TrialKind) -> Family | None:
        """Who plans them too; None: they are planned with the runs with a fault."""
        match kind:
            case TrialKind.SHARDS_TOGETHER | TrialKind.SHARDS_IN_TURN | TrialKind.SHARD_KILLED:
                return self.shards
            case _ if kind in _STORE:
                return self.uploads
            case TrialKind.RECONCILED:
                return self.reconciling
            case TrialKind.STAGING_FULL:
                return self.full_staging
            case TrialKind.STAGING_GONE:
                return self.gone_staging
            case (
                TrialKind.STORE_HEALTHY
                | TrialKind.STAGING_LEFT
                | TrialKind.STORE_SLOW
                | TrialKind.STORE_STALLED
                | TrialKind.STORE_RECOVERS
            ):
                return self.slow_store
            case _:
                return None

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
                return self.family(kind)
