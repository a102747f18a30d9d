"""How full the staging gets, with a store that is well or not: ``backpressure-bounds-staging``.

``0.store-healthy``, ``0.store-slow``, ``0.store-stalled``, ``0.store-recovers``: runs;
``41.staging-left``: killed when the staging was fullest, and resumed with a store that is well.
All are recorded, and measured by the recording.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from checkpoint_contracts.bucket import Bucket, Verb
from checkpoint_contracts.evidence import Reference, Trial, TrialKind
from checkpoint_contracts.staged import Staged
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.phases.staging.peak import Peak, peak_of
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.record.store.faults import Kind, StoreFault
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_UPLOAD: Final = "PUT"
"""The method of what brings data: a whole object, or a part of one."""
_BRINGS: Final = frozenset({Verb.PUT, Verb.PART})
_SLOWER: Final = 2.0
"""An upload takes so many times what the undisturbed run takes for each of them."""
_SLOW_LEAST_S: Final = 0.05
_STALLED_FIRST: Final = 2
"""So many uploads stall where the store recovers."""
_STALL_LEAST_S: Final = 0.5
"""They take so much longer than the undisturbed run."""
_WORDS: Final = {
    TrialKind.STORE_HEALTHY: "the store is well",
    TrialKind.STORE_SLOW: "the store is slow",
    TrialKind.STORE_STALLED: "the store answers no upload",
    TrialKind.STORE_RECOVERS: "the store stalls, and recovers",
}


class SlowStore:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        assert bench.subject.staging is not None
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._bound_bytes: Final = bench.subject.staging.bound_bytes
        self._staging: Final = b"/".join([WORKSPACE, os.fsencode(str(bench.subject.staging.path))])
        self._first, self._uploads = uploads_of(control.reference)

    # --- planning ---

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """One of each kind; none of a kill, where nothing ever lies in the staging."""
        found = self._killed() if kind is TrialKind.STAGING_LEFT else self._run(kind)
        return ([] if found is None else [found]), int(found is not None)

    def find(self, step: int, variant: str) -> PlannedFault | None:
        planned = (self._killed(), *map(self._run, _WORDS))
        found = (
            one for one in planned if one and (one.point.step, one.point.variant) == (step, variant)
        )
        return next(found, None)

    def _run(self, kind: TrialKind) -> PlannedFault:
        return self._one(kind, 0, _WORDS[kind])

    def _killed(self) -> PlannedFault | None:
        peak = peak_of(self._control.recording, self._staging)
        words = f"killed after {peak.at}, when the staging was fullest, and resumed"
        return self._one(TrialKind.STAGING_LEFT, peak.step, words) if peak.step else None

    def _one(self, kind: TrialKind, step: int, words: str) -> PlannedFault:
        total = len(self._control.recording.operations)
        where = point(kind, step, kind.value, words, _WORDS.get(kind, "the staging is left"), total)
        return PlannedFault(kind=kind, point=where, action=None, covers=words)

    # --- trying ---

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what the run left, or the state that was resumed from."""
        return self._conduct(planned, self._control.deadlines)

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same once more."""
        deadlines = self._control.deadlines
        return self._conduct(planned, deadlines.for_a_hang() if longer else deadlines)

    def _conduct(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        bench = self._bench
        resumes = planned.kind is TrialKind.STAGING_LEFT
        start = self._control.start
        if resumes:
            start = self._source.state(kill_state(planned.point.step))
        bench.put(start)
        attempts = bench.subject.resume_attempts if resumes else 1
        leg, staged = self._leg(planned.kind, deadlines)
        for _ in range(attempts - 1):
            if leg.execution.succeeded or not leg.execution.usable:
                break
            leg, again = self._leg(planned.kind, deadlines)
            staged = max(staged, again, key=lambda one: one.peak_bytes or 0)
        left = bench.state()
        check = bench.check(deadlines.check_s) if leg.execution.succeeded else None
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            check=check,
            staging=staged,
        )
        return trial, start if resumes else left

    def _leg(self, kind: TrialKind, deadlines: Deadlines) -> tuple[Leg, Staged]:
        """One start, from what lies there; and what lay in the staging meanwhile."""
        bench, resumes = self._bench, kind is TrialKind.STAGING_LEFT
        events, effects = bench.client.events.read_bytes(), bench.client.effects.read_bytes()
        folder = bench.client.scratch / "staging"
        remove_tree(folder)
        faults, longer_s = self._faults(kind)
        result, execution = bench.faulted(
            bench.subject.resume if resumes else bench.subject.run,
            deadlines.resume_s + longer_s,
            store_faults=faults,
            recording=folder,
        )
        leg = Leg(
            command=Command.RESUME if resumes else Command.RUN,
            execution=execution,
            events=bench.new_events(events),
            effects=bench.new_effects(effects),
            requests=requests_of(result.requests),
            objects=objects_of(bench.client.objects.read_bytes()),
        )
        return leg, self._staged(folder, leg)

    def _faults(self, kind: TrialKind) -> tuple[tuple[StoreFault, ...], float]:
        """And how much longer the run may take for them, in seconds."""
        wall_s = self._control.reference.run.wall_s
        match kind:
            case TrialKind.STORE_SLOW:
                each_s = max(_SLOW_LEAST_S, _SLOWER * wall_s / max(1, self._uploads))
                return (
                    self._fault(Kind.SLOW, times=None, seconds=each_s),
                ), 2 * each_s * self._uploads
            case TrialKind.STORE_RECOVERS:
                stall_s = _STALL_LEAST_S + wall_s
                fault = self._fault(Kind.SLOW, times=_STALLED_FIRST, seconds=stall_s)
                return (fault,), 2 * stall_s * _STALLED_FIRST
            case TrialKind.STORE_STALLED:
                return (self._fault(Kind.HANG, times=None),), 0.0
            case _:
                return (), 0.0

    def _fault(self, kind: Kind, *, times: int | None, seconds: float = 0.0) -> StoreFault:
        """From the first upload on that is no probe."""
        return StoreFault(
            kind=kind, method=_UPLOAD, occurrence=self._first, times=times, seconds=seconds
        )

    def _staged(self, folder: Path, leg: Leg) -> Staged:
        peak: Peak = peak_of(journal.load(folder), self._staging)
        return Staged(
            bound_bytes=self._bound_bytes,
            peak_bytes=peak.size_bytes,
            peak_at=peak.at,
            slowed=sum(bool(one.fault) for one in leg.requests),
        )


def uploads_of(reference: Reference) -> tuple[int, int]:
    """Which of the requests that bring data is the first that brings some of the job's own, from 1;
    and how many do. What is ephemeral, a probe of the store, does not, nor does a marker.
    """
    bucket = reference.bucket or Bucket()
    others = bucket.ephemeral | bucket.markers_in_bucket
    sent = [one for one in reference.requests if one.verb in _BRINGS]
    own = [number for number, one in enumerate(sent, 1) if one.key not in others]
    return (own[0] if own else 1), len(own)
