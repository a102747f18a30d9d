"""All trials of one subject, within the time that they have together.

Each kind has a share, and what it does not need goes on to the others. First comes what covers an
operation, then the rest.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Coverage, Evidence, Trial, TrialKind, Variant
from checkpoint_contracts.mixed import MixedContract
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.alone.conduct import is_one_by_one
from pytest_checkpoint.phases.alone.planned import KINDS as ALONE_TRIED
from pytest_checkpoint.phases.alone.trials import AloneTrials
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.estimate import estimate
from pytest_checkpoint.phases.faults.doubts import DoubtedWarmth
from pytest_checkpoint.phases.faults.planned import KINDS as FAULTS_TRIED
from pytest_checkpoint.phases.faults.tries import FaultTrials
from pytest_checkpoint.phases.liveness.trials import WatchedTrials
from pytest_checkpoint.phases.logbook import FORGETFUL, TRIED, Logbook, Notes
from pytest_checkpoint.phases.shares import do_fairly
from pytest_checkpoint.phases.told import Told
from pytest_checkpoint.phases.trials import StageTrials
from pytest_checkpoint.states.source import StateSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What the trials of one subject gave."""

    trials: tuple[Trial, ...]
    coverage: Mapping[TrialKind, Coverage]
    variants: tuple[Variant, ...]
    room: str = ""
    """How the disk was made full."""
    notes: tuple[str, ...] = ()

    def added_to(self, evidence: Evidence) -> Evidence:
        """The evidence with these trials in it."""
        return dataclasses.replace(
            evidence,
            trials=self.trials,
            trial_coverage=self.coverage,
            variants=self.variants,
            room=self.room,
        )


TRIALS_ENDED: Final = "trials ended"
_DOUBTED: Final = "runs with a fault start fresh"
NOTHING_TRIED: Final = Tried(trials=(), coverage={}, variants=())


def try_all(
    bench: Bench,
    control: Control,
    source: StateSource,
    kinds: Collection[TrialKind],
    progress: Progress,
    *,
    warm: bool = False,
    saves_s: float = 0.0,
    logbook: Logbook = FORGETFUL,
) -> Tried:
    """Every trial of these kinds, until all are made or the budget is spent.

    ``warm``: runs with a fault placed in them, their resumes and checks may start warm, which
    saves about ``saves_s`` of each trial. ``logbook``: trials that it knows are not made again.
    SubjectError if a changed pipeline is none, or does not work, or a heartbeat that is declared
    does not show.
    """
    options = bench.options
    deadline = inf if options.exhaustive else time.monotonic() + options.time_budget_s
    doubted = logbook.recall(_DOUBTED, Notes)
    warm = warm and doubted is None
    stages = StageTrials(bench, control, source, kinds, progress, logbook)
    faults = FaultTrials(bench, control, source, kinds, warm=warm, logbook=logbook)
    watches = WatchedTrials(bench, control, kinds, progress, logbook)
    alone = AloneTrials(bench, control, kinds, progress, logbook, warm=warm)
    count = len(stages.wanted) + faults.count + watches.count + alone.count
    progress.estimate(estimate(count, "trial", expected_s(control, saves_s), options))
    works = [stages.work()] if stages.wanted else []
    works += watches.works()
    notes = () if doubted is None else doubted.texts
    try:
        do_fairly([*works, *alone.works(), *_shown(faults.needed(), faults, progress)], deadline)
        do_fairly(_shown(faults.others(), faults, progress), deadline)
    except DoubtedWarmth as doubt:
        note = (
            "runs with a fault start fresh: warm, one showed what it does not show in a fresh "
            f"process ({doubt})"
        )
        notes = (note,)
        start_fresh(logbook, Notes(notes))
        if not options.exhaustive:
            deadline = time.monotonic() + options.time_budget_s
        faults = FaultTrials(bench, control, source, kinds, warm=False, logbook=logbook)
        alone = AloneTrials(bench, control, kinds, progress, logbook)
        do_fairly([*works, *alone.works(), *_shown(faults.needed(), faults, progress)], deadline)
        do_fairly(_shown(faults.others(), faults, progress), deadline)
    # In the order of the run, so that of each cause the earliest is reported.
    trials = [*stages.made, *faults.made, *watches.made, *alone.made]
    trials.sort(key=lambda trial: (list(TrialKind).index(trial.kind), trial.point.step))
    return Tried(
        trials=tuple(trials),
        coverage={
            **stages.coverage(),
            **faults.coverage(),
            **watches.coverage(),
            **alone.coverage(),
        },
        variants=tuple(stages.variants),
        room=faults.room,
        notes=(*notes, *faults.notes, *alone.notes),
    )


def start_fresh(logbook: Logbook, why: Notes) -> None:
    """No trial starts warm from now on, and what those showed that did is not believed."""
    may_be_warm = (*FAULTS_TRIED, *filter(is_one_by_one, ALONE_TRIED))
    # In this order: a kill between the two leaves nothing that started warm to be believed.
    logbook.forget(TRIALS_ENDED, *(f"{TRIED}{kind} " for kind in may_be_warm))
    logbook.keep(_DOUBTED, why)


def _shown(
    works: Iterable[Iterator[None]], faults: FaultTrials, progress: Progress
) -> list[Iterator[None]]:
    """The same, told of from time to time."""
    told = Told(progress)

    def one(work: Iterator[None]) -> Iterator[None]:
        for _ in work:
            made = len(faults.made)
            told.phase(f"trial {made}: {faults.made[-1].point.operation}")
            yield

    return [one(work) for work in works]


def is_trial(contract: Contract, point_id: str) -> bool:
    """Whether this point of a contract is a trial; else it is a state that is restored."""
    if not isinstance(contract, TrialContract):
        return False
    variant = point_id.partition(".")[2]
    return not isinstance(contract, MixedContract) or any(
        variant.startswith(kind.value) for kind in contract.kinds
    )


def expected_s(control: Control, saves_s: float) -> float:
    """Two executions and a check; of one that is killed again and again more, of a failed less."""
    reference = control.reference
    took_s = reference.run.wall_s + reference.finished_resume.wall_s + reference.check.wall_s
    return max(0.0, took_s - saves_s)
