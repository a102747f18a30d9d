"""Trials for the tests: a subject of two stages, fetch and sum, that does what a test says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Trial,
    TrialKind,
    Variant,
)
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Verdict
from tests.contracts.builders import STEPS, checked, ran, seen

LOUD = ran(1, output="fetch failed: no route to host\n")
SILENT = ran(1)
HUNG = ran(None, timed_out=True, wall_s=60.0)
KILLED = ran(None, signal=9)
OTHER = checked('{"total": 41}\n')
STAGE_FAULTS = frozenset({"stage-faults"})


def leg(
    execution: Execution, *events: str, command: Command = Command.RUN, killed: bool = False
) -> Leg:
    return Leg(command=command, execution=execution, events=events, killed=killed)


def resumed(execution: Execution, *events: str, killed: bool = False) -> Leg:
    return leg(execution, *events, command=Command.RESUME, killed=killed)


def changed(execution: Execution, *events: str) -> Leg:
    return leg(execution, *events, command=Command.CHANGED)


def point(kind: TrialKind, operation: str, step: int = 1) -> CrashPoint:
    return CrashPoint(
        fault=kind.fault,
        step=step,
        variant=kind.value,
        operation=operation,
        signature=kind.value,
        total_steps=STEPS,
    )


def trial(kind: TrialKind, *legs: Leg, check: Execution | None = None, **fields: Any) -> Trial:
    """Of the stage fetch, unless said otherwise; checked if the last leg ended with exit 0."""
    stage = fields.pop("stage", "fetch")
    words = {
        TrialKind.RAISES_ONCE: f"stage {stage} raises once",
        TrialKind.RAISES_ALWAYS: f"stage {stage} always raises",
        TrialKind.KILLED_ALWAYS: f"stage {stage} is killed at every attempt",
        TrialKind.CHANGED: "changed pipeline 1 after 'done fetch'",
    }
    if check is None and legs[-1].execution.succeeded:
        check = checked()
    if kind is TrialKind.CHANGED:
        fields = {"variant": 1, "events_before": ("start fetch", "done fetch"), **fields}
    else:
        fields["stage"] = stage
    where = point(kind, words[kind], fields.pop("step", 1))
    return Trial(point=where, kind=kind, legs=legs, check=check, **fields)


def covered(trials: Iterable[Trial], kind: TrialKind) -> Coverage:
    count = sum(one.kind is kind for one in trials)
    return Coverage(derived=count, unique=count, explored=count)


def tried(*trials: Trial, **fields: Any) -> Evidence:
    """What these trials give; each was made again, with the same end."""
    values: dict[str, Any] = {
        "capabilities": STAGE_FAULTS,
        "trials": trials,
        "trial_replays": trials,
        "trial_coverage": {kind: covered(trials, kind) for kind in TrialKind},
    }
    return seen(**{**values, **fields})


def judged(contract: TrialContract, *trials: Trial, **fields: Any) -> Verdict:
    """Of the contract's kinds only those of the trials; what has none was not asked for."""
    faults = frozenset(one.point.fault for one in trials)
    return judge(tried(*trials, **{"faults": faults, **fields}), contract)


def variant(*events: str, check: Execution | None = None) -> Variant:
    return Variant(
        number=1, command="python job.py --new w", run=ran(), check=check or OTHER, events=events
    )


def flaky(evidence: Evidence, *again: Trial) -> Evidence:
    """With other replays than the trials themselves."""
    return replace(evidence, trial_replays=again)
