"""Trials with a fault in the run, for the tests: full disk, failing call, signal, kills."""

from __future__ import annotations

from typing import Any

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Trial,
    TrialKind,
)
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import EVENTS, STEPS, checked, ran, seen

LOUD = ran(1, output="state.json: No space left on device\n")
SILENT = ran(1)
HUNG = ran(None, timed_out=True, wall_s=10.0)
OTHER = checked('{"total": 41}\n')
FETCH, SUM = EVENTS[:2], EVENTS[2:]


def point(kind: TrialKind, variant: str, step: int = 7) -> CrashPoint:
    return CrashPoint(
        fault=kind.fault,
        step=step,
        variant=variant,
        operation="the fault at step 7 (write state.json)",
        signature="the fault at write state.json",
        total_steps=STEPS,
    )


def run(execution: Execution, *events: str, **fields: Any) -> Leg:
    return Leg(command=Command.RUN, execution=execution, events=events, **fields)


def resume(execution: Execution, *events: str) -> Leg:
    return Leg(command=Command.RESUME, execution=execution, events=events)


def faulted(kind: TrialKind, variant: str, *legs: Leg, **fields: Any) -> Trial:
    """Its fault showed at step 7; checked if the last leg ended with exit 0."""
    check = checked() if legs[-1].execution.succeeded else None
    values: dict[str, Any] = {"check": check, "shown": Shown(step=7), **fields}
    return Trial(point=point(kind, variant), kind=kind, legs=legs, **values)


def evidence_of(contract: TrialContract, *trials: Trial, **fields: Any) -> Evidence:
    """Each was made again, with the same end; all there are to make."""
    coverage = {}
    for kind in contract.kinds:
        count = sum(one.kind is kind for one in trials)
        coverage[kind] = Coverage(derived=count, unique=count, explored=count)
    values: dict[str, Any] = {
        "capabilities": contract.needs,
        "trials": trials,
        "trial_replays": trials,
        "trial_coverage": coverage,
    }
    return seen(**{**values, **fields})


def judged(contract: TrialContract, *trials: Trial, **fields: Any) -> Verdict:
    return judge(evidence_of(contract, *trials, **fields), contract)


def broken(contract: TrialContract, *trials: Trial) -> list[tuple[Symptom, str]]:
    """Of trials that broke the promise: what, and the second half of the headline."""
    verdict = judged(contract, *trials)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline.split("): ", 1)[1]) for one in found]
