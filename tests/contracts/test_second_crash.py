"""``crash-during-recovery``, by hand-made evidence."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import archive, judge
from checkpoint_contracts.evidence import Coverage, Evidence, Experiment, Fault
from checkpoint_contracts.second_crash import crash_during_recovery, under_way
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import (
    HUNG,
    checked,
    crashed_twice,
    killed,
    ran,
    seen,
    tried,
)

FAULT = Fault.SECOND_CRASH
LOUD = ran(1, output="JSONDecodeError: Expecting value\n")
GONE = tried(crashed_twice(7), LOUD)


def evidence(*experiments: Experiment, **fields: Any) -> Evidence:
    """With a replay of each that ends in the same way."""
    return seen(*experiments, **{"replays": experiments, "faults": frozenset({FAULT}), **fields})


def judged(*experiments: Experiment, **fields: Any) -> Verdict:
    return judge(evidence(*experiments, **fields), crash_during_recovery)


def covered(**fields: Any) -> dict[Fault, Coverage]:
    return {FAULT: Coverage(**{"derived": 4, "unique": 2, "explored": 2, **fields})}


def test_a_failure_is_told_in_the_users_terms() -> None:
    verdict = judged(tried(crashed_twice(4)), GONE)

    assert verdict.outcome is Outcome.FAILED
    assert verdict.faults_failed == ("second-crash",)
    (failure,) = verdict.failures
    finding = failure.finding
    assert finding.point.id == "7.kill+5.kill"
    assert finding.headline == (
        "killed at step 7 (write state.json), then its resume killed at step 5 "
        "(unlink state.json): resume exits 1"
    )
    assert finding.likely_cause.startswith("The recovery takes the old away")


def test_what_a_single_crash_breaks_is_left_to_the_others() -> None:
    once = tried(killed(7), LOUD)
    assert judged(once, tried(crashed_twice(7)), faults=frozenset(Fault)).outcome is Outcome.PASSED


def test_one_flaw_met_from_many_crashes_is_one_cause() -> None:
    verdict = judged(*(tried(crashed_twice(step), LOUD) for step in (4, 7, 9)))
    assert [failure.count for failure in verdict.failures] == [3]


def test_what_does_not_show_again_is_a_flaky_subject() -> None:
    verdict = judged(GONE, replays=(tried(crashed_twice(7)),))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: not seen again when it was replayed: killed")


@pytest.mark.parametrize(
    ("experiment", "symptom", "cause"),
    [
        (tried(crashed_twice(7), HUNG), Symptom.HANG, "The second resume waits"),
        (
            tried(crashed_twice(7), ran(1)),
            Symptom.RESUME_FAILED,
            "The recovery takes",
        ),
        (
            tried(crashed_twice(7, signature="the resume: create job.lock"), ran(1)),
            Symptom.RESUME_FAILED,
            "The second resume waits",
        ),
        (
            tried(crashed_twice(7, signature="the resume: write a.log"), check=checked("41\n")),
            Symptom.DIFFERENT_RESULT,
            "The recovery cannot be begun twice",
        ),
        (
            tried(crashed_twice(7), events_before=("done fetch",), events_after=("start fetch",)),
            Symptom.DONE_AGAIN,
            "What the resume has finished",
        ),
    ],
    ids=["hang", "unlink", "lock", "write", "again"],
)
def test_the_likely_cause_goes_by_the_last_crash(
    experiment: Experiment, symptom: Symptom, cause: str
) -> None:
    verdict = judged(experiment)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.failures[0].finding.symptom is symptom
    assert verdict.failures[0].finding.likely_cause.startswith(cause)


def test_attempts_that_are_used_up_accuse_nobody() -> None:
    """Which they are is found out by the kit; here it is only told."""
    verdict = judged(tried(crashed_twice(4)), tried(crashed_twice(7), LOUD, spent="fetch"))
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == (
        (
            "not judged: 1 state in which the crashes have used up the attempts of fetch: killed "
            "as often right at its start, the job refuses too"
        ),
    )


def test_the_budget_must_be_enough_for_every_operation() -> None:
    place = "the resume after 7.kill, killed at its step 5 (unlink state.json)"
    verdict = judged(tried(crashed_twice(4)), coverage=covered(unreached=(place,)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(f"the budget ended too early: not covered is {place}; ")
    assert judged(tried(crashed_twice(4)), coverage=covered(unique=9)).reason == "sampled 2/9"


def test_a_resume_that_could_not_be_recorded_passes_nothing() -> None:
    verdict = judged(tried(crashed_twice(4)), coverage=covered(doubts=("it ended otherwise",)))
    assert (verdict.outcome, verdict.reason) == (Outcome.INCONCLUSIVE, "it ended otherwise")


def test_nothing_new_is_a_pass_and_nothing_at_all_is_none() -> None:
    nothing_new = judged(coverage=covered(unique=0, explored=0, left_out=("left out: 1 crash",)))
    assert nothing_new.outcome is Outcome.PASSED
    assert nothing_new.notes == (
        "left out: 1 crash",
        (
            "the fault second-crash has no states of its own here: what it may leave, a single "
            "crash leaves too"
        ),
    )
    nothing = judged(coverage=covered(derived=0, unique=0, explored=0))
    assert nothing.outcome is Outcome.NOT_APPLICABLE
    assert nothing.reason.startswith("there is no resume to crash")
    too_late = judged(coverage=covered(derived=0, unique=0, explored=0, unreached=("a resume",)))
    assert too_late.outcome is Outcome.INCONCLUSIVE
    assert judged(coverage={}).outcome is Outcome.INCONCLUSIVE


def test_states_behind_a_known_hang_count_with_it() -> None:
    hang = tried(crashed_twice(7), HUNG)
    verdict = judged(hang, coverage=covered(known_hangs=(crashed_twice(9),)))
    assert verdict.failures[0].count == 2
    assert judged(tried(crashed_twice(4)), coverage=covered(known_hangs=(crashed_twice(9),))).reason


def test_it_is_kept_and_judged_again() -> None:
    first = evidence(GONE, tried(crashed_twice(4), LOUD, spent="fetch"), coverage=covered())
    again = archive.load(archive.dump(first))
    assert again == first
    assert judge(again, crash_during_recovery) == judge(first, crash_during_recovery)


@pytest.mark.parametrize(
    ("events", "stages"),
    [
        ((), {"a"}),
        (("start a",), {"a", "b"}),
        (("start a", "done a"), {"b"}),
        (("start a", "start b", "done a"), {"b", "c"}),
        (("start a", "done a", "start b", "done b", "start c", "done c"), set()),
    ],
)
def test_which_stages_a_crash_may_have_interrupted(
    events: tuple[str, ...], stages: set[str]
) -> None:
    assert under_way(["a", "b", "c"], events) == stages
