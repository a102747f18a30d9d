"""slow-is-not-stale: what is said of a worker that lives and is slow."""

from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.heartbeat import Watch
from checkpoint_contracts.slow_not_stale import slow_is_not_stale
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import ran
from tests.contracts.fault_builders import LOUD
from tests.contracts.watch_builders import (
    NOT_FIRED,
    broken,
    ended,
    undecided,
    verdict,
    watch,
    watched,
)

CONTRACT = slow_is_not_stale
WHOLE = (TrialKind.SLOW_CALLS, TrialKind.LOADED, TrialKind.CLOCK_SET)


def whole(kind: TrialKind, seen: Watch, *legs: Leg) -> Trial:
    return watched(kind, seen, *(legs or (ended(ran()),)))


def held(seen: Watch) -> Trial:
    return watched(TrialKind.HELD, seen)


def silent(*trials: Trial) -> tuple[Trial, ...]:
    """With one of each kind that shows nothing."""
    alive = watch(("waiting", 0.1), ("alive", 0.4), ("finished", 4.1))
    others = [held(watch(("alive", 0.4), ("stalled", 3.5), over_s=4.0, lasts_s=3.0))]
    others += [whole(kind, alive) for kind in WHOLE]
    kinds = {trial.kind for trial in trials}
    return (*trials, *(one for one in others if one.kind not in kinds))


def test_it_is_alive_or_stalled_all_the_time() -> None:
    assert verdict(CONTRACT, *silent()).outcome is Outcome.PASSED


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("word", ["stale", "finished"])
def test_no_other_word_from_its_first_beat_to_its_end(kind: TrialKind, word: str) -> None:
    seen = watch(("stale", 0.1), ("alive", 0.4), (word, 1.2), ("alive", 1.5))
    finding = broken(CONTRACT, *silent(whole(kind, seen)))
    assert finding.symptom is Symptom.FALSE_ALARM
    assert finding.headline.endswith(f"after 1.2 s it is called {word}, and goes on")
    near_its_end = watch(("alive", 0.4), ("alive", 3.0), (word, 3.5))
    assert verdict(CONTRACT, *silent(whole(kind, near_its_end))).outcome is Outcome.PASSED
    before_and_after = watch(("stale", 0.1), ("alive", 0.4), (word, 4.1), over_s=4.0)
    assert verdict(CONTRACT, *silent(whole(kind, before_and_after))).outcome is Outcome.PASSED


def test_stale_for_as_long_again_as_it_takes() -> None:
    """Then it was no end."""
    seen = watch(("alive", 0.4), ("stale", 3.0))
    assert broken(CONTRACT, *silent(whole(TrialKind.LOADED, seen))).symptom is Symptom.FALSE_ALARM
    seen = watch(("alive", 0.4), ("finished", 3.0))
    assert verdict(CONTRACT, *silent(whole(TrialKind.LOADED, seen))).outcome is Outcome.PASSED


def test_never_alive_at_all() -> None:
    """As where its wall clock is believed; not by what was said before its first beat."""
    seen = watch(("waiting", 0.1), ("stale", 0.4), ("stale", 2.5), ("finished", 4.1))
    finding = broken(CONTRACT, *silent(whole(TrialKind.CLOCK_SET, seen)))
    assert finding.headline.endswith("after 2.5 s it is called stale, and goes on")
    early = silent(whole(TrialKind.CLOCK_SET, watch(("stale", 0.4), ("finished", 4.1))))
    assert "no beat was seen meanwhile" in undecided(CONTRACT, *early)


def test_while_a_call_is_held_from_the_first_answer_on() -> None:
    """Which ends the asking, and so the hold."""
    seen = watch(("stale", 1.1), over_s=1.2, lasts_s=3.0)
    assert broken(CONTRACT, *silent(held(seen))).symptom is Symptom.FALSE_ALARM


def test_a_call_that_was_not_held_for_long_enough_says_nothing() -> None:
    seen = watch(("alive", 0.4), ("alive", 2.0), over_s=2.1, lasts_s=3.0)
    assert "held for 2.1 s only" in undecided(CONTRACT, *silent(held(seen)))


def test_that_the_kit_did_not_get_to_run_accuses_nobody() -> None:
    seen = watch(("alive", 0.4), ("stale", 1.2), starved_s=0.3, patience_s=0.25)
    trials = silent(whole(TrialKind.LOADED, seen))
    assert "did not run for 0.3 s" in undecided(CONTRACT, *trials)


def test_a_run_that_fails_says_nothing() -> None:
    seen = watch(("alive", 0.4))
    trials = silent(whole(TrialKind.SLOW_CALLS, seen, ended(LOUD)))
    assert "nothing can be said of it: the run exits 1" in undecided(CONTRACT, *trials)


def test_answers_that_say_nothing_are_no_promise_kept() -> None:
    odd = watch(("alive", 0.2), ("Traceback: no such file", 0.4))
    trials = silent(whole(TrialKind.LOADED, odd))
    assert "the command says: Traceback: no such file" in undecided(CONTRACT, *trials)
    unseen = silent(whole(TrialKind.LOADED, watch(("waiting", 0.4))))
    assert "no beat was seen meanwhile" in undecided(CONTRACT, *unseen)
    assert "no beat was seen meanwhile" in undecided(
        CONTRACT, *silent(held(watch(over_s=4.0, lasts_s=3.0)))
    )


def test_a_fault_that_did_not_fire_says_nothing() -> None:
    trials = silent(watched(TrialKind.HELD, watch(("alive", 0.4)), shown=NOT_FIRED))
    assert undecided(CONTRACT, *trials).startswith("the fault did not fire")
