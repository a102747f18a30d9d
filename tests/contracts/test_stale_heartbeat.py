"""stale-heartbeat-is-noticed: what is said of a worker that is frozen, or dead."""

from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Coverage, Trial, TrialKind
from checkpoint_contracts.stale_heartbeat import stale_heartbeat_is_noticed
from checkpoint_contracts.verdict import Outcome, Symptom
from checkpoint_contracts.watched import TOO_SHORT
from tests.contracts.builders import checked, ran
from tests.contracts.fault_builders import HUNG, LOUD, OTHER, SILENT, resume, run
from tests.contracts.watch_builders import (
    FILE,
    NOT_FIRED,
    broken,
    ended,
    undecided,
    verdict,
    watch,
    watched,
)

CONTRACT = stale_heartbeat_is_noticed
NOTICED = watch(("alive", 0.1), ("alive", 0.8), ("stale", 1.2))
UNNOTICED = watch(("alive", 0.1), ("alive", 1.0), ("alive", 2.1))


def dead(**fields: object) -> Trial:
    return watched(TrialKind.DEAD, NOTICED, **fields)


def test_it_is_noticed() -> None:
    stopped = watched(TrialKind.STOPPED, NOTICED, ended(ran()))
    assert verdict(CONTRACT, stopped, dead()).outcome is Outcome.PASSED


def test_within_its_bound_only() -> None:
    late = watch(("alive", 1.9), ("stale", 2.1))
    finding = broken(CONTRACT, watched(TrialKind.DEAD, late))
    assert finding.symptom is Symptom.UNNOTICED
    assert finding.headline.endswith("it is called stale after 2.1 s only")
    assert finding.expected == "'stale' within 2.0 s: 1 s, and 1.0 s of slack"
    just = watch(("alive", 1.5), ("stale", 2.0))
    assert verdict(CONTRACT, watched(TrialKind.DEAD, just)).outcome is Outcome.PASSED


@pytest.mark.parametrize("word", ["alive", "stalled", "finished", "waiting", "Traceback", ""])
def test_any_other_word_is_none(word: str) -> None:
    seen = watch((word, 1.0), (word, 2.1))
    finding = broken(CONTRACT, watched(TrialKind.DEAD, seen), dead())
    assert f"it is still called {word or 'nothing'}" in finding.headline


def test_a_file_that_goes_on_changing() -> None:
    finding = broken(CONTRACT, watched(TrialKind.STOPPED, UNNOTICED), heartbeat=FILE)
    assert finding.headline.endswith("after 2.1 s the heartbeat still changes")
    assert finding.seen.startswith("the heartbeat file beat.json says: alive (3 times")


def test_a_number_is_no_worker() -> None:
    finding = broken(CONTRACT, watched(TrialKind.REUSED, UNNOTICED))
    assert finding.symptom is Symptom.UNNOTICED
    assert "Store the start time of the process beside its number" in finding.likely_cause
    assert verdict(CONTRACT, watched(TrialKind.REUSED, NOTICED)).outcome is Outcome.PASSED


def test_what_could_not_be_tried_is_a_note() -> None:
    none = Coverage(derived=0, unique=0, explored=0, left_out=("not as root",))
    one = Coverage(derived=1, unique=1, explored=1)
    coverage = dict.fromkeys(CONTRACT.kinds, one) | {TrialKind.REUSED: none}
    stopped = watched(TrialKind.STOPPED, NOTICED, ended(ran()))
    said = verdict(CONTRACT, stopped, dead(), trial_coverage=coverage)
    assert (said.outcome, said.notes) == (Outcome.PASSED, ("not as root",))


def test_that_nobody_was_asked_long_enough_says_nothing() -> None:
    short = watch(("alive", 0.1), ("alive", 1.8))
    assert "nobody was asked until the time was over" in undecided(
        CONTRACT, watched(TrialKind.DEAD, short)
    )
    assert "nobody was asked" in undecided(CONTRACT, watched(TrialKind.DEAD, watch()))


def test_that_the_kit_did_not_get_to_run_accuses_nobody() -> None:
    starved = watch(("alive", 0.1), ("alive", 2.1), starved_s=0.6)
    assert "did not run for 0.6 s" in undecided(CONTRACT, watched(TrialKind.DEAD, starved))
    noticed = watch(("alive", 0.1), ("stale", 1.2), starved_s=0.6)
    assert verdict(CONTRACT, watched(TrialKind.DEAD, noticed)).outcome is Outcome.PASSED


def test_a_fault_that_did_not_fire_says_nothing() -> None:
    said = undecided(CONTRACT, watched(TrialKind.DEAD, NOTICED, shown=NOT_FIRED))
    assert said.startswith("the fault did not fire")
    assert undecided(CONTRACT, watched(TrialKind.DEAD, None)).startswith("the fault did not fire")


def test_when_it_goes_on_it_ends_as_undisturbed() -> None:
    wrong = watched(TrialKind.STOPPED, NOTICED, ended(ran()), check=OTHER)
    assert broken(CONTRACT, wrong).symptom is Symptom.ERROR_AS_SUCCESS
    hung = watched(TrialKind.STOPPED, NOTICED, ended(HUNG))
    assert broken(CONTRACT, hung).symptom is Symptom.HANG


def test_or_stops_with_a_word_and_its_resume_does() -> None:
    fenced = watched(TrialKind.STOPPED, NOTICED, run(LOUD), resume(ran()), check=checked())
    assert verdict(CONTRACT, fenced).outcome is Outcome.PASSED
    silent = watched(TrialKind.STOPPED, NOTICED, run(SILENT), resume(ran()), check=checked())
    assert broken(CONTRACT, silent).symptom is Symptom.SILENT_STOP


def test_without_the_capability_it_does_not_apply() -> None:
    said = verdict(CONTRACT, capabilities=frozenset[str]())
    assert said.outcome is Outcome.NOT_APPLICABLE
    assert "heartbeat" in said.reason


def test_nothing_to_stop_is_no_promise_kept() -> None:
    none = Coverage(derived=0, unique=0, explored=0, doubts=(TOO_SHORT,))
    coverage = dict.fromkeys(CONTRACT.kinds, none)
    assert undecided(CONTRACT, trial_coverage=coverage) == TOO_SHORT
