"""Watched runs, for the tests: a heartbeat that has to be stale after 1 s, stalled after 2 s."""

from __future__ import annotations

from typing import Any

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import Evidence, Execution, Trial, TrialKind
from checkpoint_contracts.heartbeat import Answer, Heartbeat, Watch
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Finding, Outcome, Verdict
from tests.contracts.builders import ran
from tests.contracts.fault_builders import evidence_of, faulted, run

COMMAND = Heartbeat(what="watch.py {workspace}", stale_after_s=1.0, stalled_after_s=2.0)
NEVER_STALLED = Heartbeat(what="watch.py {workspace}", stale_after_s=1.0)
FILE = Heartbeat(what="the heartbeat file beat.json", stale_after_s=1.0, is_file=True)
KILLED = ran(None, signal=9)
BOUND_S = 2.0
SLACK_S = 1.0


def answers(*said: tuple[str, float]) -> tuple[Answer, ...]:
    """(word, when it was said)."""
    return tuple(Answer(word=word, asked_s=when_s - 0.1, said_s=when_s) for word, when_s in said)


def watch(*said: tuple[str, float], **fields: Any) -> Watch:
    values: dict[str, Any] = {
        "answers": answers(*said),
        "bound_s": BOUND_S,
        "slack_s": SLACK_S,
        "over_s": 4.0,
        "patience_s": SLACK_S / 2,
    }
    return Watch(**{**values, **fields})


def watched(kind: TrialKind, seen: Watch | None, *legs: Leg, **fields: Any) -> Trial:
    """Of a run that was killed by the kit afterwards, unless other legs are given."""
    legs = legs or (run(KILLED, killed=True),)
    return faulted(kind, kind.value, *legs, watch=seen, **fields)


def ended(execution: Execution) -> Leg:
    return Leg(command=Command.RUN, execution=execution)


def evidence(contract: TrialContract, *trials: Trial, **fields: Any) -> Evidence:
    return evidence_of(contract, *trials, **{"heartbeat": COMMAND, **fields})


def verdict(contract: TrialContract, *trials: Trial, **fields: Any) -> Verdict:
    return judge(evidence(contract, *trials, **fields), contract)


def broken(contract: TrialContract, *trials: Trial, **fields: Any) -> Finding:
    """The one failure of trials that broke the promise."""
    said = verdict(contract, *trials, **fields)
    assert said.outcome is Outcome.FAILED, said.reason
    (failure,) = said.failures
    return failure.finding


def undecided(contract: TrialContract, *trials: Trial, **fields: Any) -> str:
    said = verdict(contract, *trials, **fields)
    assert said.outcome is Outcome.INCONCLUSIVE, said.reason
    return said.reason


NOT_FIRED = Shown()
