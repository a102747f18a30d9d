"""alive-is-not-progress: what is said of a worker that beats and does not advance."""

from __future__ import annotations

import pytest

from checkpoint_contracts.alive_not_progress import alive_is_not_progress
from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.heartbeat import Heartbeat, Watch
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.watch_builders import (
    FILE,
    NEVER_STALLED,
    NOT_FIRED,
    broken,
    undecided,
    verdict,
    watch,
    watched,
)

CONTRACT = alive_is_not_progress
LATE_S = 3.0


def blocked(seen: Watch | None) -> Trial:
    return watched(TrialKind.BLOCKED, seen)


def seen(*said: tuple[str, float], **fields: float) -> Watch:
    return watch(*said, bound_s=LATE_S, **fields)


def test_it_is_called_stalled() -> None:
    trial = blocked(seen(("alive", 0.2), ("alive", 1.8), ("stalled", 2.3)))
    assert verdict(CONTRACT, trial).outcome is Outcome.PASSED


def test_within_its_bound_only() -> None:
    finding = broken(CONTRACT, blocked(seen(("alive", 0.2), ("stalled", 3.1))))
    assert finding.symptom is Symptom.UNNOTICED
    assert finding.headline.endswith("it is called stalled after 3.1 s only")
    assert finding.expected == "'alive', and 'stalled' within 3.0 s: 2 s, and 1.0 s of slack"


def test_a_beat_is_no_progress() -> None:
    finding = broken(CONTRACT, blocked(seen(("alive", 0.2), ("alive", 3.1))))
    assert finding.symptom is Symptom.UNNOTICED
    assert finding.headline.endswith("after 3.1 s it is still called alive")


@pytest.mark.parametrize("word", ["stale", "finished"])
def test_nor_is_it_dead(word: str) -> None:
    finding = broken(CONTRACT, blocked(seen(("alive", 0.2), (word, 1.1), ("stalled", 2.3))))
    assert finding.symptom is Symptom.FALSE_ALARM
    assert finding.headline.endswith(f"after 1.1 s it is called {word}, and lives")


def test_what_is_said_after_its_end_does_not_count() -> None:
    trial = blocked(seen(("alive", 0.2), ("stalled", 2.3), ("stale", 3.5), over_s=3.4))
    assert verdict(CONTRACT, trial).outcome is Outcome.PASSED


@pytest.mark.parametrize("last", ["alive", "stale"])
def test_that_the_kit_did_not_get_to_run_accuses_nobody(last: str) -> None:
    starved = seen(("alive", 0.2), (last, 3.1), starved_s=0.6)
    assert "did not run for 0.6 s" in undecided(CONTRACT, blocked(starved))


def test_that_nobody_was_asked_long_enough_says_nothing() -> None:
    assert "nobody was asked until" in undecided(CONTRACT, blocked(seen(("alive", 0.2))))
    assert "nobody was asked" in undecided(CONTRACT, blocked(seen()))


def test_a_fault_that_did_not_fire_says_nothing() -> None:
    trial = watched(TrialKind.BLOCKED, seen(("stalled", 2.1)), shown=NOT_FIRED)
    assert undecided(CONTRACT, trial).startswith("the fault did not fire")


@pytest.mark.parametrize(
    ("heartbeat", "why"), [(FILE, "a heartbeat file says"), (NEVER_STALLED, "after which time")]
)
def test_where_nothing_is_promised_it_does_not_apply(heartbeat: Heartbeat, why: str) -> None:
    said = verdict(CONTRACT, heartbeat=heartbeat)
    assert said.outcome is Outcome.NOT_APPLICABLE
    assert why in said.reason
