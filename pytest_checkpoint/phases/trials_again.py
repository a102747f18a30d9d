"""One trial made again, whatever its family: to see whether a failure repeats, or for a replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final, NamedTuple

from checkpoint_contracts.evidence import Evidence, Trial, Variant
from pytest_checkpoint.phases.alone.planned import KINDS as ALONE
from pytest_checkpoint.phases.alone.trials import AloneAgain, is_alone
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.again import FaultsAgain, is_fault
from pytest_checkpoint.phases.faults.planned import KINDS as FAULTS
from pytest_checkpoint.phases.liveness.planned import KINDS as WATCHED
from pytest_checkpoint.phases.liveness.trials import WatchedAgain, is_watched
from pytest_checkpoint.phases.trial_plan import PlannedTrial
from pytest_checkpoint.phases.trials import conduct, find_trial
from pytest_checkpoint.phases.variants import variant
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State


class Again(NamedTuple):
    """What came of it."""

    trial: Trial
    left: State
    """What lay there after its last leg."""
    variants: tuple[Variant, ...] = ()
    """Changed pipelines that were run for it."""


class TrialsAgain:
    """Those of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._faults: Final = FaultsAgain(bench, control, source)

    def again_as(self, seen: Trial, variants: Iterable[Variant]) -> Again:
        """The same trial once more, and so of the same point.

        Its words may be others: those of closes and of later crashes are of the run that was made
        now, in which a temporary file has another name.
        """
        made = self._made_again(seen, variants)
        return made._replace(trial=dataclasses.replace(made.trial, point=seen.point))

    def _made_again(self, seen: Trial, variants: Iterable[Variant]) -> Again:
        if seen.kind in ALONE:
            return Again(*AloneAgain(self._bench, self._control).again_as(seen))
        if seen.kind in WATCHED:
            return Again(*WatchedAgain(self._bench, self._control).again_as(seen))
        if seen.kind in FAULTS:
            return Again(*self._faults.again_as(seen))
        planned = PlannedTrial(
            kind=seen.kind, point=seen.point, stage=seen.stage, variant=seen.variant
        )
        return Again(*conduct(self._bench, self._control, self._source, planned, variants))

    def again(self, contract: str, point_id: str, known: Evidence) -> Again:
        """The trial of this contract and id. UserError if there is none such."""
        judge = self._bench.options.catalogue[contract]
        if is_alone(judge):
            return Again(*AloneAgain(self._bench, self._control).again(point_id, known))
        if is_watched(judge):
            return Again(*WatchedAgain(self._bench, self._control).again(contract, point_id, known))
        if is_fault(judge):
            hung = any(one.point.id == point_id and one.hung for one in known.trials)
            return Again(*self._faults.again(contract, point_id, longer=hung))
        planned = find_trial(self._bench, self._control, contract, point_id)
        number = planned.variant
        variants = (variant(self._bench, self._control, number),) if number else ()
        made = conduct(self._bench, self._control, self._source, planned, variants)
        return Again(*made, variants)
