"""changed-pipeline-is-noticed: what a changed pipeline shows as the resume.

The original's stages are fetch and sum; fetch was done before the crash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts.changed_pipeline import changed_pipeline_is_noticed
from checkpoint_contracts.evidence import Execution, Fault, Trial, TrialKind
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import checked, ran
from tests.contracts.trial_builders import (
    HUNG,
    LOUD,
    OTHER,
    SILENT,
    changed,
    judged,
    resumed,
    trial,
    variant,
)

CONTRACT = changed_pipeline_is_noticed
SUM = ("start sum", "done sum")
FETCH = ("start fetch", "done fetch")
GET = ("start get", "done get")
RENAMED = variant(*GET, *SUM)
STRONGER = variant(*FETCH, *SUM)


def change(*legs: Any, **fields: Any) -> Trial:
    return trial(TrialKind.CHANGED, *legs, **fields)


def verdict_on(one: Trial, its_own: Any = RENAMED) -> Verdict:
    return judged(
        CONTRACT, one, capabilities=frozenset({"variants"}), variants=(its_own,) if its_own else ()
    )


def broken(one: Trial, its_own: Any = RENAMED) -> list[tuple[Symptom, str]]:
    verdict = verdict_on(one, its_own)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    for finding in found:
        assert finding.seen.endswith("\nchanged pipeline 1 is: python job.py --new w")
        assert all((finding.expected, finding.likely_cause))
    return [(one.symptom, one.headline.removeprefix(f"{one.point.operation}: ")) for one in found]


@pytest.mark.parametrize(
    ("one", "its_own"),
    [
        (change(changed(LOUD), resumed(ran(), *SUM)), RENAMED),
        (change(changed(ran(), *GET, *SUM), check=OTHER), RENAMED),
        # Same name, other parameter: run again. That the done one was not, the result would show.
        (change(changed(ran(), *FETCH, *SUM), check=OTHER), STRONGER),
        (change(changed(ran(), *SUM), check=OTHER), STRONGER),
        # Begun before the crash, and committed just before it.
        (
            change(changed(ran(), *SUM), check=OTHER, events_before=(*FETCH, "start get")),
            RENAMED,
        ),
    ],
)
def test_refused_or_run_again(one: Trial, its_own: Any) -> None:
    assert verdict_on(one, its_own).outcome is Outcome.PASSED


def test_old_work_taken_as_done() -> None:
    """By position: get is skipped, for one stage was done."""
    assert broken(change(changed(ran(), *SUM), check=checked())) == [
        (
            Symptom.CHANGE_AS_DONE,
            "it exits 0 with another result: old work was silently taken as done",
        )
    ]


def test_a_stage_that_never_ran_although_the_result_is_right() -> None:
    assert broken(change(changed(ran(), *SUM), check=OTHER)) == [
        (
            Symptom.CHANGE_AS_DONE,
            "it exits 0, but get never ran: it was silently taken as done",
        )
    ]


def test_a_stage_that_is_there_by_chance_need_not_run() -> None:
    by_chance = replace(RENAMED, other_events=("start get-7", "done get-7", *SUM))
    skipping = change(changed(ran(), *SUM), check=OTHER)
    assert verdict_on(skipping, by_chance).outcome is Outcome.PASSED
    both = replace(RENAMED, other_events=RENAMED.events)
    assert verdict_on(skipping, both).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("check", "symptom", "words"),
    [
        (checked("", 2), Symptom.CHANGE_AS_DONE, "a check that exits 2"),
        (
            checked("", None, timed_out=True, wall_s=60.0),
            Symptom.CHECK_HANG,
            "a check that had not ended after 60.0 s",
        ),
    ],
)
def test_a_check_that_ends_badly(check: Execution, symptom: Symptom, words: str) -> None:
    assert broken(change(changed(ran(), *GET, *SUM), check=check)) == [
        (symptom, f"it exits 0 with {words}: old work was silently taken as done")
    ]


def test_refused_without_a_word() -> None:
    one = change(changed(SILENT), resumed(ran(), *SUM))
    assert broken(one) == [(Symptom.SILENT_STOP, "it exits 1 without a word")]


SPOILT = "it refuses, and the original does not resume any more: the refusal spoilt the state"


@pytest.mark.parametrize(
    ("resume", "check"), [(LOUD, None), (HUNG, None), (ran(), OTHER), (ran(), checked("", 1))]
)
def test_a_refusal_that_spoils_the_state(resume: Execution, check: Execution | None) -> None:
    one = change(
        changed(LOUD),
        resumed(resume),
        check=check,
        unspoilt=(resumed(ran(), *SUM),),
        unspoilt_check=checked(),
    )
    assert broken(one) == [(Symptom.REFUSAL_SPOILS, SPOILT)]
    silent = replace(one, legs=(changed(SILENT), *one.legs[1:]))
    assert [symptom for symptom, _ in broken(silent)] == [
        Symptom.SILENT_STOP,
        Symptom.REFUSAL_SPOILS,
    ]


def forgets(**fields: Any) -> Trial:
    """It refuses, and deletes what was done: the original starts over, and ends well."""
    return change(changed(LOUD), resumed(ran(), *FETCH, *SUM), **fields)


def test_a_refusal_that_deletes_what_was_done() -> None:
    one = forgets(unspoilt=(resumed(ran(), *SUM),), unspoilt_check=checked())
    ((symptom, words),) = broken(one)
    assert symptom is Symptom.REFUSAL_SPOILS
    assert words.startswith("it refuses, and the original runs fetch again, which had been done:")


def test_a_job_that_starts_over_anyway_accuses_no_refusal() -> None:
    """That it does is what resume-skips-done is about."""
    one = forgets(unspoilt=(resumed(ran(), *FETCH, *SUM),), unspoilt_check=checked())
    assert verdict_on(one).outcome is Outcome.PASSED
    unknown = verdict_on(forgets())
    assert unknown.outcome is Outcome.INCONCLUSIVE
    assert unknown.reason == (
        "changed pipeline 1 after 'done fetch': after the refusal the original runs fetch again, "
        "and whether it does so without it is not known"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"unspoilt": (resumed(LOUD),)},
        {"unspoilt": (resumed(ran()),), "unspoilt_check": OTHER},
    ],
)
def test_a_state_from_which_nothing_resumes_accuses_no_refusal(fields: dict[str, Any]) -> None:
    verdict = verdict_on(change(changed(LOUD), resumed(LOUD), **fields))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == (
        "changed pipeline 1 after 'done fetch': whether the refusal spoilt the state is not known: "
        "the original pipeline does not resume from there without it either"
    )


@pytest.mark.parametrize(
    ("end", "symptom", "words"),
    [
        (HUNG, Symptom.HANG, "it had not ended after 60.0 s"),
        (ran(None, signal=11, output="oops"), Symptom.RESUME_FAILED, "it dies by SIGSEGV"),
    ],
)
def test_it_does_not_end(end: Execution, symptom: Symptom, words: str) -> None:
    assert broken(change(changed(end))) == [(symptom, words)]


@pytest.mark.parametrize(
    ("one", "its_own"),
    [
        (change(changed(LOUD)), RENAMED),
        (replace(change(changed(ran(), *GET)), check=None), RENAMED),
        (change(changed(replace(LOUD, problem="1 process survived")), resumed(ran())), RENAMED),
        (change(changed(LOUD), resumed(LOUD), unspoilt=(resumed(ran(refusal="no")),)), RENAMED),
        (change(changed(ran(), *GET, *SUM), check=OTHER), None),
    ],
)
def test_what_was_not_seen_through_passes_nothing(one: Trial, its_own: Any) -> None:
    verdict = verdict_on(one, its_own)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("changed pipeline 1 after 'done fetch': ")


def test_states_that_cannot_be_trusted_are_no_starting_points() -> None:
    one = change(changed(ran(), *SUM), check=checked())
    verdict = judged(
        CONTRACT,
        one,
        capabilities=frozenset({"variants"}),
        variants=(RENAMED,),
        unobservable={Fault.CHANGED: "mapped"},
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.INCONCLUSIVE, "mapped")
