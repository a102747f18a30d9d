"""The finished job whose bucket was changed: its reconciliation, its resume, its check."""

from __future__ import annotations

import dataclasses
from typing import Final

from checkpoint_contracts.bucket import WHOLE, Bucket, Tampered, sent_keys
from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.trial import Command, Shown
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.phases.store.legs import StoreLegs
from pytest_checkpoint.phases.store.tampering import (
    ALL,
    FOREIGN,
    LOST,
    NOTHING,
    ORPHAN,
    TRUNCATED,
    VARIANTS,
    Tampering,
)
from pytest_checkpoint.record.store.contents import gone_line
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_WORDS: Final = {
    NOTHING: "nothing is changed",
    LOST: "an object is lost",
    TRUNCATED: "an object is cut to half",
    ORPHAN: "the marker of a whole object is lost",
    FOREIGN: "an object that is not the job's is added",
    ALL: "objects are lost, cut and added, and a marker of a whole one is lost",
}


class Reconciling:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """Every way in which the finished job can be tampered with."""
        if self._bench.subject.s3 is None or self._bench.subject.s3.reconcile is None:
            return [], 0
        tampering = self._tampering()
        found = [self._at(one) for one in VARIANTS if tampering.done(one) is not None]
        return found, len(found)

    def find(self, step: int, variant: str) -> PlannedFault | None:
        planned, _ = self.planned(TrialKind.RECONCILED, exhaustive=True)
        found = (one for one in planned if (one.point.step, one.point.variant) == (step, variant))
        return next(found, None)

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what its last leg left."""
        return self.again(planned, longer=False)

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same; ``longer``: with the deadline of a hang's replay."""
        deadlines = self._control.deadlines.for_a_hang() if longer else self._control.deadlines
        bucket = self._bench.subject.s3
        made = self._tampering().done(planned.point.variant.removeprefix(f"{planned.kind}-"))
        assert made is not None
        assert bucket is not None
        assert bucket.reconcile is not None
        state, tampered = made
        legs = StoreLegs(self._bench, deadlines, state)
        legs.make(Command.RECONCILE, bucket.reconcile)
        if legs.made[0].execution.succeeded:
            legs.resume()
        left = legs.left
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(state.events),
            legs=tuple(legs.made),
            check=self._check(legs, tampered),
            shown=Shown(step=planned.point.step),
            tampered=tampered,
        )
        return trial, left

    def _check(self, legs: StoreLegs, tampered: Tampered) -> Execution | None:
        """With what is not the job's taken away, which a check that lists may well tell."""
        if tampered.foreign and legs.made[-1].execution.succeeded:
            lines = b"".join(gone_line(one.key) for one in tampered.foreign)
            left = dataclasses.replace(legs.left, objects=legs.left.objects + lines)
            self._bench.put(left)
        return legs.check()

    def _tampering(self) -> Tampering:
        subject, reference = self._bench.subject, self._control.reference
        bucket = reference.bucket or Bucket()
        # What setup has put there is none of the job's to make again.
        made = sent_keys(reference.requests, WHOLE) & {one.key for one in reference.objects}
        return Tampering(
            self._source.timeline.after(self._source.timeline.steps),
            self._bench.client.bodies,
            keys=sorted(made - bucket.markers_in_bucket - bucket.ephemeral),
            links=[link for link in bucket.links if link.key in made],
            prefix=subject.s3.prefix if subject.s3 is not None else "",
        )

    def _at(self, variant: str) -> PlannedFault:
        kind, total = TrialKind.RECONCILED, self._source.timeline.steps
        words = f"after the end {_WORDS[variant]}"
        return PlannedFault(
            kind=kind,
            point=point(kind, total, f"{kind}-{variant}", words, words, total),
            action=None,
            covers=words,
        )
