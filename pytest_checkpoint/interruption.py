"""What can be said of a subject whose examination was interrupted, and when it is gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Self

from checkpoint_contracts import judge
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CRASHES, Coverage, Evidence, Trial
from checkpoint_contracts.own import asked
from checkpoint_contracts.replay import Cause, Standing, hold
from checkpoint_contracts.verdict import Outcome, Verdict
from checkpoint_contracts.wording import counted
from pytest_checkpoint.examination import Examination
from pytest_checkpoint.groundwork import contracts_of, invalid_evidence
from pytest_checkpoint.keeping.logbook import KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.explore import ENDED, EXPLORED, Ended, Exploration, Explored
from pytest_checkpoint.phases.further import DAMAGES, SECOND_CRASHES
from pytest_checkpoint.phases.logbook import TRIED
from pytest_checkpoint.phases.trying import TRIALS_ENDED, Tried
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.order import Plan
from pytest_checkpoint.subject import Subject

_TOO_EARLY = "interrupted before its control run had ended: nothing was judged"


@dataclass(frozen=True, slots=True)
class Before:
    """How much is taken up of what was judged before the interruption."""

    states: int
    trials: int
    further: tuple[str, ...]

    @classmethod
    def of(cls, logbook: KeptLogbook) -> Self:
        further = (name for name in (SECOND_CRASHES, DAMAGES) if logbook.count(name))
        return cls(logbook.count(EXPLORED), logbook.count(TRIED), tuple(further))

    def told(self, evidence: Evidence | None = None) -> str:
        """A note; with the evidence it says how much there was in all."""
        if evidence is None:
            states, trials = counted(self.states, "state"), counted(self.trials, "trial")
        else:
            singly = [one for fault, one in evidence.coverage.items() if fault in CRASHES]
            states = f"{self.states} of {counted(_unique(singly), 'state')}"
            of_all = _unique(evidence.trial_coverage.values())
            trials = f"{self.trials} of {counted(of_all, 'trial')}" if of_all else ""
        parts = [states, *([trials] if trials else []), *(f"all {name}" for name in self.further)]
        return f"continued: judged before the interruption: {', '.join(parts)}"


def _unique(coverage: Iterable[Coverage]) -> int:
    return sum(one.unique for one in coverage)


def too_early(subject: Subject, options: Options) -> Examination:
    """Interrupted before its control run had ended."""
    evidence = invalid_evidence(subject, options, _TOO_EARLY)
    return as_interrupted(evidence, contracts_of(options), ())


def seen_so_far(
    subject: Subject,
    options: Options,
    known: Evidence | None,
    planned: Plan | None,
    logbook: KeptLogbook | None,
) -> Evidence:
    """``known``: before anything was explored; what is None had not been reached."""
    if known is None or planned is None or logbook is None:
        return invalid_evidence(subject, options, _TOO_EARLY)
    states = list(logbook.all_of(EXPLORED, Explored))
    ended = logbook.recall(ENDED, Ended)
    coverage = ended.coverage if ended is not None else {}
    if ended is None:
        coverage = planned.coverage({parse(one.experiments[0].point.id) for one in states})
    seen = Exploration(
        experiments=tuple(one for state in states for one in state.experiments), coverage=coverage
    )
    for name in (SECOND_CRASHES, DAMAGES):
        further = logbook.recall(name, Exploration)
        if further is not None:
            seen = seen.with_more(further)
    evidence = dataclasses.replace(known, experiments=seen.experiments, coverage=seen.coverage)
    tried = logbook.recall(TRIALS_ENDED, Tried)
    if tried is not None:
        return tried.added_to(evidence)
    return dataclasses.replace(evidence, trials=tuple(logbook.all_of(TRIED, Trial)))


def as_interrupted(
    evidence: Evidence, contracts: Iterable[Contract], notes: Iterable[str]
) -> Examination:
    """Judged by what was seen; nothing of it counts as passed."""
    told = _told(evidence)
    return Examination(
        evidence=evidence,
        verdicts={one.id: _undecided(evidence, one, told) for one in contracts},
        operations=0 if evidence.reference is None else evidence.reference.steps,
        notes=tuple(notes),
        interrupted=True,
    )


def _told(evidence: Evidence) -> str:
    if evidence.invalid is not None:
        return evidence.invalid
    explored = sum(one.explored for one in evidence.coverage.values())
    unique = _unique(evidence.coverage.values())
    trials = counted(len(evidence.trials), "trial")
    return f"interrupted after {explored} of {counted(unique, 'state')} and {trials}"


def _to_replay(evidence: Evidence, contract: Contract) -> tuple[Cause, ...]:
    return hold(evidence, contract).standing(Standing.TO_REPLAY)


def _undecided(evidence: Evidence, contract: Contract, told: str) -> Verdict:
    """What was seen is told; what is missing for a verdict goes without saying."""
    verdict = judge(evidence, contract)
    if verdict.outcome in (Outcome.FAILED, Outcome.NOT_APPLICABLE):
        return verdict
    seen: tuple[str, ...] = ()
    if evidence.reference is not None:
        none: tuple[Cause, ...] = ()
        causes = asked(contract, none, partial(_to_replay, evidence, contract))
        seen = tuple(f"seen once and not yet replayed: {one.chosen.headline}" for one in causes)
    return dataclasses.replace(verdict, outcome=Outcome.INCONCLUSIVE, reason=told, notes=seen)
