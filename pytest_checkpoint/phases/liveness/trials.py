"""All watched runs of one subject; and one of them made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from checkpoint_contracts import CATALOGUE, Contract
from checkpoint_contracts.evidence import Coverage, Evidence, Trial, TrialKind
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.watched import TOO_SHORT
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.alone import numbers
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.liveness import clock
from pytest_checkpoint.phases.liveness.asking import Bounds, source_of
from pytest_checkpoint.phases.liveness.conduct import Conductor
from pytest_checkpoint.phases.liveness.planned import (
    KINDS,
    MOST,
    MOST_REUSED,
    PlannedWatch,
    find,
    planned,
)
from pytest_checkpoint.phases.liveness.undisturbed import watch_undisturbed
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook, once, trial_name
from pytest_checkpoint.phases.told import Told
from pytest_checkpoint.states.timeline import State

_NO_CLOCK: Final = "that the wall clock is set was not tried: {}"
_HANGS_KNOWN: Final = 2
"""After so many hangs of one kind its further trials are left out."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """What the undisturbed run showed that was watched."""

    answer_s: float
    steps: tuple[int, ...]


def _watched(bench: Bench, control: Control) -> _Watched:
    seen = watch_undisturbed(bench, control)
    return _Watched(seen.bounds.answer_s, tuple(seen.steps))


class WatchedTrials:
    """Those of some kinds, of one subject."""

    def __init__(
        self,
        bench: Bench,
        control: Control,
        kinds: Collection[TrialKind],
        progress: Progress,
        logbook: Logbook = FORGETFUL,
    ) -> None:
        """SubjectError if no beat is seen in an undisturbed run."""
        self._logbook: Final = logbook
        self._told: Final = Told(progress)
        self.made: Final[list[Trial]] = []
        self._planned: Final[dict[TrialKind, list[PlannedWatch]]] = {}
        self._totals: Final[dict[TrialKind, int]] = {}
        self._left_out: Final[list[PlannedWatch]] = []
        self._not_tried: Final[dict[TrialKind, str]] = {}
        self._hangs: Final[Counter[TrialKind]] = Counter()
        wanted = [kind for kind in KINDS if kind in kinds]
        if not wanted:
            return
        progress.phase("watching an undisturbed run")
        options, operations = bench.options, control.recording.operations
        seen = once(logbook, "watched undisturbed", _Watched, lambda: _watched(bench, control))
        bounds = Bounds(source=source_of(bench.subject), answer_s=seen.answer_s)
        self._conductor: Final = Conductor(bench, control, bounds)
        steps = list(seen.steps)
        most = len(steps) if options.exhaustive else min(MOST, options.max_states)
        for kind in wanted:
            why = unavailable(kind, bench)
            if why is not None:
                self._planned[kind], self._totals[kind] = [], 0
                self._not_tried[kind] = why
                continue
            count = min(most, MOST_REUSED) if kind is TrialKind.REUSED else most
            self._planned[kind] = planned(operations, kind, steps, count)
            self._totals[kind] = len(planned(operations, kind, steps, len(steps)))

    @property
    def count(self) -> int:
        """How many are planned."""
        return sum(map(len, self._planned.values()))

    def works(self) -> list[Iterator[None]]:
        """A piece of work for each kind; each step is a trial."""
        return [self._work(of_kind) for of_kind in self._planned.values() if of_kind]

    def _work(self, of_kind: list[PlannedWatch]) -> Iterator[None]:
        for one in of_kind:
            if self._hangs[one.kind] >= _HANGS_KNOWN:
                self._left_out.append(one)
                continue
            self._told.phase(f"watching: {one.point.operation}")
            try:
                name = trial_name(one.kind, one.point)
                trial = once(self._logbook, name, Trial, partial(self._made, one))
            except clock.ClockNotSetError as error:
                self._planned[one.kind], self._totals[one.kind] = [], 0
                self._not_tried[one.kind] = _NO_CLOCK.format(error)
                return
            self._hangs[one.kind] += trial.hung
            self.made.append(trial)
            yield

    def _made(self, planned: PlannedWatch) -> Trial:
        return self._conductor.conduct(planned)[0]

    def coverage(self) -> Mapping[TrialKind, Coverage]:
        made = {trial.point for trial in self.made}
        left_out = tuple(one.point for one in self._left_out)
        return {
            kind: Coverage(
                derived=self._totals[kind],
                unique=self._totals[kind],
                explored=sum(one.point in made for one in of_kind),
                unreached=tuple(
                    one.point.operation
                    for one in of_kind
                    if one.point not in made and one.point not in left_out
                ),
                known_hangs=tuple(one.point for one in of_kind if one.point in left_out),
                left_out=tuple(filter(None, (self._not_tried.get(kind),))),
                doubts=() if of_kind or kind in self._not_tried else (TOO_SHORT,),
            )
            for kind, of_kind in self._planned.items()
        }


def unavailable(kind: TrialKind, bench: Bench) -> str | None:
    """Why nothing of this kind can be tried; empty: there is nothing to be said about it."""
    if kind is TrialKind.CLOCK_SET:
        why = clock.unavailable()
        return None if why is None else _NO_CLOCK.format(why)
    if kind is TrialKind.REUSED:
        return "" if source_of(bench.subject).glob else numbers.unavailable()
    return None


class WatchedAgain:
    """Single ones made again: to see whether a failure repeats, or for a replay."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._conductor: Conductor | None = None

    def again(self, contract: str, point_id: str, known: Evidence | None) -> tuple[Trial, State]:
        """The trial of this id, and what its run left. UserError if the contract has none such."""
        judge = self._bench.options.catalogue[contract]
        kinds = judge.kinds if isinstance(judge, TrialContract) else ()
        number, _, variant = point_id.partition(".")
        operations = self._control.recording.operations
        found = find(operations, int(number), variant) if number.isdigit() else None
        if found is None or found.kind not in kinds:
            raise UserError(
                f"there is no trial {point_id} of {contract}: copy the replay line from a failure "
                "of this recording"
            )
        why = unavailable(found.kind, self._bench)
        if why is not None:
            raise UserError(f"{point_id} cannot be tried: {why or 'a file says no number'}")
        trials = known.trials if known is not None else ()
        if self._conductor is None:
            self._conductor = Conductor(self._bench, self._control, self._bounds(trials))
        hung_before = any(one.point.id == point_id and one.hung for one in trials)
        try:
            return self._conductor.conduct(found, longer=hung_before)
        except clock.ClockNotSetError as error:
            raise UserError(f"{point_id} cannot be tried: {error}") from error

    def _bounds(self, trials: Sequence[Trial]) -> Bounds:
        """As of an earlier trial, if there is one that was watched."""
        for trial in trials:
            if trial.watch is not None:
                source = source_of(self._bench.subject)
                return Bounds(source=source, answer_s=trial.watch.answer_s)
        return watch_undisturbed(self._bench, self._control).bounds

    def again_as(self, seen: Trial) -> tuple[Trial, State]:
        """The same trial, and what its run left."""
        contract = next(
            one.id
            for one in CATALOGUE.values()
            if isinstance(one, TrialContract) and seen.kind in one.kinds
        )
        known = Evidence(
            subject=self._bench.subject.name,
            capabilities=self._bench.subject.capabilities,
            faults=frozenset({seen.point.fault}),
            trials=(seen,),
        )
        return self.again(contract, seen.point.id, known)


def is_watched(contract: Contract) -> bool:
    """Whether its trials are of these kinds."""
    return isinstance(contract, TrialContract) and any(kind in KINDS for kind in contract.kinds)
