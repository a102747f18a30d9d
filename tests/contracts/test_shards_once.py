"""shards-cover-once: what shards show together, one after the other, and beside a dead one."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.shards_once import shards_cover_once
from checkpoint_contracts.trial import Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import checked, ran
from tests.contracts.fault_builders import HUNG, LOUD, OTHER, broken, faulted, judged, resume, run

CONTRACT = shards_cover_once
TWICE = checked('{"total": 43}\n')
PART = checked('{"total": 12}\n', 1)
KILLED = ran(None, signal=9)


def together(first: Execution, second: Execution, **fields: Any) -> Trial:
    kind = TrialKind.SHARDS_TOGETHER
    values: dict[str, Any] = {"shown": Shown(step=0), "check": checked(), **fields}
    pair = Pair(second=second, together=True)
    return faulted(kind, "shards-together-1", run(first), pair=pair, **values)


def in_turn(*shards: Execution, **fields: Any) -> Trial:
    kind = TrialKind.SHARDS_IN_TURN
    values: dict[str, Any] = {"unresumed_check": PART, "shards": 3, **fields}
    return faulted(kind, kind.value, *map(run, shards), **values)


def dead(other: Execution, *shards: Execution, **fields: Any) -> Trial:
    kind = TrialKind.SHARD_KILLED
    legs: tuple[Leg, ...] = (run(KILLED, killed=True), *map(resume, shards))
    pair = Pair(second=other, together=True)
    return faulted(kind, kind.value, *legs, pair=pair, shards=3, **fields)


SOUND = (
    together(ran(), ran()),
    in_turn(ran(), ran(), ran()),
    dead(ran(), ran(), ran(), ran()),
)


def test_all_is_covered() -> None:
    verdict = judged(CONTRACT, *SOUND)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert (verdict.states_explored, verdict.states_total) == (3, 3)


@pytest.mark.parametrize(
    ("trial", "how"),
    [
        (together(ran(), ran(), check=TWICE), "both shards exit 0"),
        (in_turn(ran(), ran(), ran(), check=TWICE), "all 3 shards exit 0"),
        (dead(ran(), ran(), ran(), ran(), check=TWICE), "after that all 3 shards exit 0"),
    ],
)
def test_something_twice_or_not_at_all(trial: Trial, how: str) -> None:
    others = [one for one in SOUND if one.kind is not trial.kind]
    found = broken(CONTRACT, trial, *others)
    assert found == [(Symptom.DIFFERENT_RESULT, f"{how} with another result")]


@pytest.mark.parametrize(
    ("trial", "symptom", "text"),
    [
        (together(ran(), LOUD), Symptom.SHARD_FAILED, "shard 1 of 2 exits 1"),
        (together(HUNG, ran()), Symptom.HANG, "shard 0 of 2 had not ended after 10.0 s"),
        (in_turn(ran(), LOUD), Symptom.SHARD_FAILED, "shard 1 of 3 exits 1"),
        (
            dead(LOUD),
            Symptom.SHARD_FAILED,
            "the other shard, which nobody had killed, exits 1",
        ),
        (
            dead(HUNG),
            Symptom.HANG,
            "the other shard, which nobody had killed, had not ended after 10.0 s",
        ),
        (
            dead(ran(), ran(), ran(), LOUD),
            Symptom.SHARD_FAILED,
            "after that shard 2 of 3 exits 1",
        ),
    ],
)
def test_a_shard_ends_badly(trial: Trial, symptom: Symptom, text: str) -> None:
    others = [one for one in SOUND if one.kind is not trial.kind]
    assert broken(CONTRACT, trial, *others) == [(symptom, text)]


def test_a_shard_that_does_it_all_does_not_look_at_its_number() -> None:
    trial = in_turn(ran(), ran(), ran(), unresumed_check=checked())
    verdict = judged(CONTRACT, trial, SOUND[0], SOUND[2])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "does not look at RANK and WORLD_SIZE" in verdict.reason


@pytest.mark.parametrize(
    "trial",
    [
        dead(ran(), ran(), ran(), ran(), shown=Shown()),
        faulted(TrialKind.SHARD_KILLED, "shard-killed", run(ran()), shards=3),
        faulted(TrialKind.SHARD_KILLED, "shard-killed", run(KILLED, killed=True), shards=3),
    ],
)
def test_where_none_was_killed_nothing_is_concluded(trial: Trial) -> None:
    verdict = judged(CONTRACT, trial, *SOUND[:2])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire: ")


def test_what_was_not_checked_is_not_passed() -> None:
    verdict = judged(CONTRACT, together(ran(), ran(), check=None), *SOUND[1:])
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_every_kind_is_wanted() -> None:
    assert judged(CONTRACT, *SOUND[:2]).outcome is Outcome.INCONCLUSIVE


def test_a_check_that_fails_in_the_end() -> None:
    trial = together(ran(), ran(), check=OTHER)
    assert judged(CONTRACT, trial, *SOUND[1:]).outcome is Outcome.FAILED
