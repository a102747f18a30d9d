"""failed-stage-is-retried: what a stage that raises once shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.failed_stage import failed_stage_is_retried
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import checked, ran, undisturbed
from tests.contracts.trial_builders import HUNG, LOUD, OTHER, judged, leg, resumed, trial

CONTRACT = failed_stage_is_retried
ONCE = TrialKind.RAISES_ONCE
FAILED = ("start fetch", "fail fetch")
FETCH = ("start fetch", "done fetch")
SUM = ("start sum", "done sum")


def symptoms(one: Trial) -> list[tuple[Symptom, str]]:
    """Of a trial that broke the promise: what, and the second half of the headline."""
    verdict = judged(CONTRACT, one)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.headline.startswith("stage fetch raises once: ") for one in found)
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline.partition(": ")[2]) for one in found]


@pytest.mark.parametrize(
    "legs",
    [
        (leg(LOUD, *FAILED), resumed(ran(), *FETCH, *SUM)),
        (leg(ran(1), "start fetch"), resumed(ran(), *FETCH, *SUM)),
        (leg(ran(None, signal=6), "start fetch"), resumed(ran(), *FETCH, *SUM)),
        (leg(ran(), *FAILED, *FETCH, *SUM),),
        (leg(ran(), "start fetch", *FETCH, *SUM),),
        # Retried by the run, which then says that not all went well: nothing is left to be done.
        (leg(LOUD, *FAILED, *FETCH, *SUM), resumed(ran())),
        # Whatever was said of it, it did not get done, and runs again.
        (leg(LOUD, *FAILED, "done fetch"), resumed(ran(), *FETCH, *SUM)),
    ],
)
def test_retried_by_the_resume_or_by_the_run(legs: tuple[Leg, ...]) -> None:
    verdict = judged(CONTRACT, trial(ONCE, *legs))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert (verdict.states_explored, verdict.states_total) == (1, 1)


def test_the_run_goes_on_without_it() -> None:
    one = trial(ONCE, leg(ran(), *FAILED, *SUM), check=OTHER)
    assert symptoms(one) == [
        (
            Symptom.FAILURE_AS_DONE,
            "the run exits 0 with another result: the failure was taken as done",
        )
    ]


def test_the_run_goes_on_and_the_check_fails() -> None:
    one = trial(ONCE, leg(ran(), *FAILED, *SUM), check=checked("no total", 1))
    assert symptoms(one) == [
        (
            Symptom.FAILURE_AS_DONE,
            "the run exits 0 with a check that exits 1: the failure was taken as done",
        )
    ]


def test_said_to_be_done_with_another_result() -> None:
    """No fail line, but a result that only the fault can have changed."""
    one = trial(ONCE, leg(ran(), *FETCH, *SUM), check=OTHER)
    assert symptoms(one)[0][0] is Symptom.FAILURE_AS_DONE


@pytest.mark.parametrize("events", [(*FAILED, *SUM), (*FAILED, "done fetch"), ("start fetch",)])
def test_never_run_again_within_the_run(events: tuple[str, ...]) -> None:
    """The result is right: nothing looks at what this stage makes."""
    assert symptoms(trial(ONCE, leg(ran(), *events))) == [
        (
            Symptom.FAILURE_AS_DONE,
            "the run exits 0, but the stage was never run again: the failure was taken as done",
        )
    ]


@pytest.mark.parametrize("check", [None, OTHER])
def test_the_resume_skips_it(check: Execution | None) -> None:
    one = trial(ONCE, leg(LOUD, *FAILED), resumed(ran(), *SUM), check=check)
    assert symptoms(one) == [
        (
            Symptom.FAILURE_AS_DONE,
            "the resume exits 0, but the stage was never run again: the failure was taken as done",
        )
    ]


def test_a_retry_that_did_not_get_it_done_is_none() -> None:
    one = trial(ONCE, leg(LOUD, *FAILED, *FAILED), resumed(ran(), *SUM))
    assert symptoms(one)[0][0] is Symptom.FAILURE_AS_DONE


@pytest.mark.parametrize(
    ("resume", "check", "symptom", "words"),
    [
        (LOUD, None, Symptom.RESUME_FAILED, "the resume exits 1"),
        (HUNG, None, Symptom.HANG, "the resume had not ended after 60.0 s"),
        (ran(), OTHER, Symptom.DIFFERENT_RESULT, "the resume exits 0 with another result"),
        (
            ran(),
            checked("", 3),
            Symptom.CHECK_FAILED,
            "the resume exits 0 with a check that exits 3",
        ),
    ],
)
def test_the_resume_ends_badly(
    resume: Execution, check: Execution | None, symptom: Symptom, words: str
) -> None:
    one = trial(ONCE, leg(LOUD, *FAILED), resumed(resume, *FETCH), check=check)
    assert symptoms(one) == [(symptom, words)]


def test_done_ones_run_again() -> None:
    run = leg(LOUD, *FETCH, "start sum", "fail sum")
    one = trial(ONCE, run, resumed(ran(), *FETCH, *SUM), stage="sum")
    (failure,) = judged(CONTRACT, one).failures
    assert failure.finding.symptom is Symptom.DONE_AGAIN
    assert failure.finding.headline == (
        "stage sum raises once: the resume runs fetch again, which had been done"
    )
    assert failure.finding.seen == "the resume appended start fetch"


def test_the_run_never_ends() -> None:
    assert symptoms(trial(ONCE, leg(HUNG, *FAILED))) == [
        (Symptom.HANG, "the run had not ended after 60.0 s")
    ]


@pytest.mark.parametrize(
    "run",
    [
        leg(ran(), *FETCH, *SUM),  # unimpressed
        leg(LOUD),  # another failure, before the stage was reached
        leg(HUNG),
        leg(ran(), *SUM),
    ],
)
def test_a_fault_that_did_not_fire_passes_nothing(run: Leg) -> None:
    legs = (run, resumed(ran(), *FETCH, *SUM)) if run.execution is LOUD else (run,)
    verdict = judged(CONTRACT, trial(ONCE, *legs))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire: stage fetch raises once: ")


def test_a_stage_that_always_starts_twice_must_start_a_third_time() -> None:
    events = ("start fetch", *FETCH, *SUM)
    one = trial(ONCE, leg(ran(), *events))
    usual = undisturbed(events=events)
    assert judged(CONTRACT, one, reference=usual).outcome is Outcome.INCONCLUSIVE
    more = trial(ONCE, leg(ran(), "start fetch", *events))
    assert judged(CONTRACT, more, reference=usual).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "broken",
    [
        trial(ONCE, leg(replace(LOUD, refusal="a connection was refused"), *FAILED)),
        trial(ONCE, leg(LOUD, *FAILED), resumed(replace(LOUD, problem="1 process survived"))),
        trial(ONCE, leg(LOUD, *FAILED)),
        replace(trial(ONCE, leg(ran(), *FAILED, *FETCH)), check=None),
        replace(trial(ONCE, leg(LOUD, *FAILED), resumed(ran(), *FETCH)), check=None),
    ],
)
def test_what_was_not_seen_through_passes_nothing(broken: Trial) -> None:
    verdict = judged(CONTRACT, broken)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("stage fetch raises once: ")
