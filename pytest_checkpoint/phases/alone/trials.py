"""All trials of ``one-writer`` of one subject; and one of them made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Coverage, Evidence, Trial, TrialKind
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.alone import numbers
from pytest_checkpoint.phases.alone.conduct import Conductor, is_one_by_one
from pytest_checkpoint.phases.alone.planned import KINDS, PlannedPair, find, planned
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.doubts import DoubtedWarmth
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook, once, trial_name
from pytest_checkpoint.phases.told import Told
from pytest_checkpoint.states.timeline import State

_HANGS_KNOWN: Final = 2
"""After so many hangs of one kind its further trials are left out."""


class AloneTrials:
    """Those of some kinds, of one subject."""

    def __init__(
        self,
        bench: Bench,
        control: Control,
        kinds: Collection[TrialKind],
        progress: Progress,
        logbook: Logbook = FORGETFUL,
        *,
        warm: bool = False,
    ) -> None:
        """``warm``: where only one runs at a time it may start warm."""
        self._logbook: Final = logbook
        self.made: Final[list[Trial]] = []
        self.notes: Final[list[str]] = []
        self._told: Final = Told(progress)
        self._conductor: Final = Conductor(bench, control)
        self._bench: Final = bench
        self._warm: Final = warm
        self._planned: Final[dict[TrialKind, list[PlannedPair]]] = {}
        self._totals: Final[dict[TrialKind, int]] = {}
        self._left_out: Final[list[PlannedPair]] = []
        self._hangs: Final[Counter[TrialKind]] = Counter()
        operations, exhaustive = control.recording.operations, bench.options.exhaustive
        two = bench.subject.resume != bench.subject.run
        for kind in KINDS:
            if kind not in kinds:
                continue
            why = numbers.unavailable() if kind is TrialKind.NUMBER_REUSED else None
            if why is not None:
                self.notes.append(why)
                self._planned[kind], self._totals[kind] = [], 0
                continue
            self._planned[kind], every = (
                planned(
                    operations,
                    kind,
                    two_commands=two,
                    exhaustive=all_of_them,
                    most=bench.options.max_states,
                )
                for all_of_them in (exhaustive, True)
            )
            self._totals[kind] = len(every)

    @property
    def count(self) -> int:
        """How many are planned."""
        return sum(map(len, self._planned.values()))

    def works(self) -> list[Iterator[None]]:
        """A piece of work for each kind; each step is a trial."""
        return [self._work(of_kind) for of_kind in self._planned.values() if of_kind]

    def _work(self, of_kind: list[PlannedPair]) -> Iterator[None]:
        for one in of_kind:
            if self._hangs[one.kind] >= _HANGS_KNOWN:
                self._left_out.append(one)
                continue
            self._told.phase(f"trying: {one.point.operation}")
            name = trial_name(one.kind, one.point)
            trial = once(self._logbook, name, Trial, partial(self._made, one))
            waited = trial.pair is not None and trial.pair.second.timed_out
            self._hangs[one.kind] += trial.hung or waited
            self.made.append(trial)
            yield

    def _made(self, planned: PlannedPair) -> Trial:
        """What a warm one shows to be broken counts as a fresh one shows it.

        DoubtedWarmth if that does not show it: then no warm one is to be believed.
        """
        warm = self._warm and is_one_by_one(planned.kind)
        with self._bench.warmly(on=warm):
            trial, _ = self._conductor.conduct(planned)
        if warm and (trial.hung or self._conductor.shows_something(trial)):
            trial, _ = self._conductor.conduct(planned)
            if not (trial.hung or self._conductor.shows_something(trial)):
                raise DoubtedWarmth(planned.point)
        return trial

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
            )
            for kind, of_kind in self._planned.items()
        }


class AloneAgain:
    """Single ones made again: to see whether a failure repeats, or for a replay."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._operations: Final = control.recording.operations
        self._conductor: Final = Conductor(bench, control)

    def again(self, point_id: str, known: Evidence | None) -> tuple[Trial, State]:
        """The trial of this id, and what it left. UserError if there is none such."""
        trials = known.trials if known is not None else ()
        seen = next((one for one in trials if one.point.id == point_id), None)
        return self._again(point_id, longer=seen is not None and seen.hung)

    def again_as(self, seen: Trial) -> tuple[Trial, State]:
        """The same trial, and what it left."""
        return self._again(seen.point.id, longer=seen.hung)

    def _again(self, point_id: str, *, longer: bool) -> tuple[Trial, State]:
        number, _, variant = point_id.partition(".")
        found = find(self._operations, int(number), variant) if number.isdigit() else None
        if found is None:
            raise UserError(
                f"there is no trial {point_id} of one-writer: copy the replay line from a failure "
                "of this recording"
            )
        return self._conductor.again(found, longer=longer)


def is_alone(contract: Contract) -> bool:
    """Whether its trials are of these kinds."""
    return isinstance(contract, TrialContract) and any(kind in KINDS for kind in contract.kinds)
