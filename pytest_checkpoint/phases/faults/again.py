"""One trial of these kinds made again: to see whether its failure repeats, or for a replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Final

from checkpoint_contracts import CATALOGUE, Contract
from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.trial import Shown
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.effects.replies import find_reply
from pytest_checkpoint.phases.faults import aftermath, errors, rooms, signals
from pytest_checkpoint.phases.faults.aftermath import Crash
from pytest_checkpoint.phases.faults.conduct import Conducted, Faulty
from pytest_checkpoint.phases.faults.conductors import Conductors
from pytest_checkpoint.phases.faults.planned import KINDS, PlannedFault, base_of
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State


class FaultsAgain:
    """Those of one subject. All start fresh."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._conductors: Final = Conductors(bench, control, source)
        self._faulty: Final = Faulty(bench, control)

    def again_as(self, seen: Trial) -> tuple[Trial, State]:
        """The same trial, and what its run left, or the crash after it."""
        contract = next(
            one.id
            for one in CATALOGUE.values()
            if isinstance(one, TrialContract) and seen.kind in one.kinds
        )
        try:
            return self.again(contract, seen.point.id, longer=seen.hung)
        except UserError:
            # The closes of a run are counted anew, and this one had others: it did not fire.
            not_fired = dataclasses.replace(seen, legs=seen.legs[:1], check=None, shown=Shown())
            return not_fired, self._control.start

    def again(self, contract: str, point_id: str, *, longer: bool) -> tuple[Trial, State]:
        """The trial of this id, and what its run left, or the crash after it.

        ``longer``: with the deadline of a hang's replay. UserError if the contract has none such.
        """
        base, then = base_of(point_id)
        planned = self._find(contract, base)
        if planned.kind is TrialKind.TWO_SENDERS:
            return self._conductors.two.again(planned)
        family = self._conductors.family(planned.kind)
        if family is not None:
            return family.again(planned, longer=longer)
        conductor = self._conductors.of(planned.kind)
        if conductor is not None:
            return conductor.conduct(planned)
        faulty = self._faulty.patient() if longer else self._faulty
        made = faulty.conduct(planned)
        if made.no_room:
            raise UserError(f"{point_id} needs a real file system of its own: {made.no_room}")
        if not then:
            return made.trial, made.left
        crash = self._find_crash(planned, made, point_id)
        if crash is None:
            # It came to nothing of the kind this time: a run that was not resumed shows nothing.
            trial = dataclasses.replace(made.trial, legs=made.trial.legs[:1], check=None)
            return trial, made.left
        return aftermath.resumed(faulty, made, crash), crash.state

    def _find(self, contract: str, point_id: str) -> PlannedFault:
        judge = self._bench.options.catalogue[contract]
        kinds = judge.kinds if isinstance(judge, TrialContract) else ()
        number, _, variant = point_id.partition(".")
        found = self._found(kinds, int(number), variant) if number.isdigit() else None
        if found is None:
            raise UserError(
                f"there is no trial {point_id} of {contract}: copy the replay line from a failure "
                "of this recording"
            )
        return found

    def _found(self, kinds: Collection[TrialKind], step: int, variant: str) -> PlannedFault | None:
        recording = self._control.recording
        operations = recording.operations
        if TrialKind.NO_SPACE in kinds:
            return rooms.find_room(recording, variant) if step == 0 else None
        if TrialKind.IO_ERROR in kinds:
            closes = self._faulty.closes() if errors.wants_closes(variant) else ()
            return errors.find_error(operations, closes, step, variant)
        if TrialKind.SIGNALLED in kinds:
            return signals.find_signal(operations, step, variant, self._bench.options.grace_s)
        if TrialKind.LOST_REPLY in kinds:
            reply = find_reply(operations, step, variant)
            return reply or self._conductors.two.find(step, variant)
        conductors = (self._conductors.of(kind) for kind in kinds)
        found = (one.find(step, variant) for one in conductors if one is not None)
        return next(filter(None, found), None)

    def _find_crash(self, planned: PlannedFault, made: Conducted, point_id: str) -> Crash | None:
        shown = made.trial.shown
        if shown is None or shown.step is None:
            return None
        every = len(self._source.operations) * 100
        crashes = (
            aftermath.kills(made, frozenset(), most=every)
            if planned.kind is TrialKind.SIGNALLED
            else aftermath.losses(made, self._source.model, frozenset(), most=every)
        )
        return next((one for one in crashes if one.point.id == point_id), None)


def is_fault(contract: Contract) -> bool:
    """Whether its trials are of these kinds."""
    return isinstance(contract, TrialContract) and any(kind in KINDS for kind in contract.kinds)
