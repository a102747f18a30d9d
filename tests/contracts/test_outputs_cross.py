"""When an input of a resume must be the undisturbed run's, and when nothing can be said of it."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import Evidence, Experiment, OtherRun
from checkpoint_contracts.outputs_cross import outputs_cross_resume
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import HUNG, checked, killed, ran, seen, torn, tried, undisturbed

A, B, C, X, Y = (character * 64 for character in "abcde")
RUN = (
    *("start fetch", f"input fetch {A}", "done fetch"),
    *("start sum", f"input sum {B}", "done sum"),
    *("start tell", f"input tell {C}", "done tell"),
)
STEADY = OtherRun(events=RUN)
VARYING = OtherRun(events=tuple(line.replace(B, X).replace(C, X) for line in RUN))


def resumed(before: int, *after: str, step: int = 7, **fields: Any) -> Experiment:
    """Killed when so many lines had been written; ``after``: what the resume wrote."""
    fields = {"events_before": RUN[:before], "events_after": after, **fields}
    return tried(killed(step, f"write {step}"), fields.pop("resume", None), **fields)


GOOD = resumed(3, *RUN[3:])
SUM_AGAIN = ("start sum", "input sum {}", "done sum", *RUN[6:])


def sums(digest: str) -> tuple[str, ...]:
    return tuple(line.format(digest) for line in SUM_AGAIN)


def evidence(*experiments: Experiment, other: OtherRun | None = STEADY, **fields: Any) -> Evidence:
    return seen(*experiments, reference=undisturbed(events=RUN, other_run=other), **fields)


def judged(
    *experiments: Experiment, replays: tuple[Experiment, ...] = (), **fields: Any
) -> Verdict:
    return judge(evidence(*experiments, replays=replays, **fields), outputs_cross_resume)


def test_the_same_inputs_pass() -> None:
    verdict = judged(GOOD)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert "stage inputs compared: 2" in verdict.notes


@pytest.mark.parametrize("other", [STEADY, VARYING, None])
def test_what_was_returned_before_the_crash_must_arrive_as_it_was(other: OtherRun | None) -> None:
    wrong = resumed(3, *sums(X))
    verdict = judged(wrong, replays=(wrong,), other=other)
    assert verdict.outcome is Outcome.FAILED
    (failure,) = verdict.failures
    assert failure.finding.symptom is Symptom.OTHER_INPUT
    assert failure.finding.headline == (
        "killed at step 7 (write 7): resume gives sum another input than the undisturbed run did"
    )
    assert failure.finding.expected == (
        f"input sum {B}\n(all that ran before it had been done before the crash)"
    )
    assert failure.finding.seen == f"input sum {X}"


@pytest.mark.parametrize("line", ["input sum", "input sum None"])
def test_something_that_is_no_digest_is_another_input(line: str) -> None:
    wrong = resumed(3, "start sum", line, "done sum")
    assert judged(wrong, replays=(wrong,)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "resume", [ran(1), ran(None, signal=9), HUNG], ids=["exit 1", "signal", "hang"]
)
def test_how_the_resume_ends_has_no_part_in_it(resume: Any) -> None:
    wrong = resumed(3, "start sum", f"input sum {X}", resume=resume)
    assert judged(wrong, replays=(wrong,)).outcome is Outcome.FAILED


def test_a_wrong_result_alone_breaks_other_contracts() -> None:
    wrong = resumed(3, *RUN[3:], check=checked("41\n"))
    assert judged(wrong).outcome is Outcome.PASSED


TWO = (*RUN[:5], f"input sum {X}", *RUN[5:])
"""The undisturbed run gave sum two things."""


def given_two(before: int, *after: str, other: tuple[str, ...] = TWO) -> Verdict:
    again = tried(killed(7), events_before=TWO[:before], events_after=after)
    reference = undisturbed(events=TWO, other_run=OtherRun(events=other))
    return judge(seen(again, reference=reference, replays=(again,)), outputs_cross_resume)


def test_a_stage_that_is_given_several_things_must_get_them_all() -> None:
    both = ("start sum", f"input sum {X}", f"input sum {B}", "done sum")
    assert given_two(3, *both).outcome is Outcome.PASSED
    verdict = given_two(3, "start sum", f"input sum {X}", "done sum")
    assert verdict.outcome is Outcome.FAILED
    (failure,) = verdict.failures
    assert "resume gives sum less input than the undisturbed run did" in failure.finding.headline
    assert failure.finding.seen == f"missing is:\ninput sum {B}"


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        (5, ("start sum", f"input sum {X}", "done sum"), TWO),  # it had got the other one before
        (3, ("start sum", f"input sum {X}"), TWO),  # it has not come to its end
        (3, ("start sum", f"input sum {X}", "done sum"), RUN),  # how many varies by itself
    ],
)
def test_not_every_line_less_is_a_lost_input(
    before: int, after: tuple[str, ...], other: tuple[str, ...]
) -> None:
    assert given_two(before, *after, other=other).outcome is Outcome.PASSED


# --- a stage before it ran in the resume ---------------------------------------------------------


def test_where_an_earlier_stage_first_ran_in_the_resume_steady_inputs_are_judged() -> None:
    """Of sum, fetch had been done; of tell, sum first runs: both undisturbed runs agree on it."""
    wrong = resumed(3, "start sum", f"input sum {B}", "done sum", "start tell", f"input tell {X}")
    verdict = judged(wrong, replays=(wrong,))
    assert verdict.outcome is Outcome.FAILED
    assert "(both undisturbed runs gave it the same)" in verdict.failures[0].finding.expected


@pytest.mark.parametrize(
    ("before", "other"), [(3, VARYING), (3, None), (4, STEADY), (4, VARYING), (4, None)]
)
def test_and_others_are_not(before: int, other: OtherRun | None) -> None:
    """Nor is any where sum runs a second time: it may find what its first run has left."""
    varies = resumed(
        *(before, "start sum", f"input sum {B}", "done sum"),
        *("start tell", f"input tell {X}", "done tell"),
    )
    verdict = judged(varies, replays=(varies,), other=other)
    assert verdict.outcome is Outcome.PASSED
    assert (
        "not compared where an earlier stage ran a second time, or where one ran in the resume and "
        "two undisturbed runs did not give them the same input: tell"
    ) in verdict.notes


def test_a_phase_that_goes_on_is_no_stage_that_ran_a_second_time() -> None:
    """It starts again with the resume, and has returned nothing yet that sum could be given."""
    run = (*RUN[:3], "start phase", "start get", "done get", *RUN[3:6], "done phase")
    wrong = tried(killed(7), events_before=run[:6], events_after=("start phase", *sums(X)[:3]))
    reference = undisturbed(events=run, other_run=OtherRun(events=run))
    evidence = seen(wrong, reference=reference, replays=(wrong,))
    assert judge(evidence, outputs_cross_resume).outcome is Outcome.FAILED


def test_the_job_itself_is_no_earlier_stage() -> None:
    """It starts again with every resume, and what it returns no stage of its own is given."""
    run = ("start job", *RUN, "done job")
    other = OtherRun(events=tuple(line.replace(B, Y).replace(C, Y) for line in run))
    wrong = tried(killed(7), events_before=run[:4], events_after=("start job", *sums(X)))
    verdict = judge(
        seen(wrong, reference=undisturbed(events=run, other_run=other), replays=(wrong,)),
        outputs_cross_resume,
    )
    assert verdict.outcome is Outcome.FAILED
    assert "resume gives sum another input" in verdict.reason


def test_a_done_stage_that_runs_again_may_return_something_else() -> None:
    """That it runs again is what resume-skips-done is about."""
    again = resumed(6, "start fetch", "done fetch", "start tell", f"input tell {X}", step=8)
    assert judged(GOOD, again, other=VARYING).outcome is Outcome.PASSED


def test_a_stage_that_runs_beside_the_others_must_have_been_done_too() -> None:
    """It had been started before the last input line, and was going on at the crash."""
    run = ("start side", *RUN[:6], "done side", *RUN[6:])
    other = OtherRun(events=tuple(line.replace(B, X) for line in run))
    varies = tried(
        killed(7), events_before=run[:4], events_after=("start side", *sums(Y), "done side")
    )
    finding = judge(
        seen(varies, reference=undisturbed(events=run, other_run=other)), outputs_cross_resume
    )
    assert not finding.failures


def test_the_input_of_the_first_stage_comes_from_no_other() -> None:
    first = resumed(0, "start fetch", f"input fetch {X}", "done fetch", *RUN[3:], step=1)
    other = OtherRun(events=tuple(line.replace(A, Y) for line in RUN))
    assert judged(GOOD, first, other=other).outcome is Outcome.PASSED
    assert judged(GOOD, first, replays=(first,)).outcome is Outcome.FAILED


# --- no input at all -----------------------------------------------------------------------------


def test_a_stage_that_is_given_nothing() -> None:
    nothing = resumed(3, "start sum", "done sum", *RUN[6:])
    verdict = judged(nothing, replays=(nothing,))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.failures[0].finding.symptom is Symptom.NO_INPUT
    assert "without any input" in verdict.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (3, ("start sum",)),  # it died before it could say
        (5, ("start sum", "done sum")),  # it was given it before the crash and went on from there
        (3, ("done sum",)),
    ],
)
def test_not_every_missing_line_is_a_missing_input(before: int, after: tuple[str, ...]) -> None:
    experiment = resumed(before, *after, step=8)
    assert judged(GOOD, experiment, replays=(experiment,)).outcome is Outcome.PASSED


# --- replays -------------------------------------------------------------------------------------


def test_another_digest_at_each_try_is_inconclusive() -> None:
    wrong = resumed(3, *sums(X))
    verdict = judged(wrong, replays=(resumed(3, *sums(Y)),))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: ")


def test_where_an_earlier_stage_ran_in_the_resume_it_is_left_out() -> None:
    """Two undisturbed runs within one second agreed by chance."""

    def told(digest: str) -> Experiment:
        return resumed(3, "start sum", f"input sum {B}", "done sum", f"input tell {digest}", step=8)

    verdict = judged(GOOD, told(X), replays=(told(Y),))
    assert verdict.outcome is Outcome.PASSED
    assert any("resumed twice" in note and note.endswith(": tell") for note in verdict.notes)


def test_a_finding_that_was_not_replayed_is_not_reported() -> None:
    assert judged(resumed(3, *sums(X))).outcome is Outcome.INCONCLUSIVE


def test_one_stage_is_one_cause_and_two_are_two() -> None:
    def wrong(step: int, stage: str, before: int) -> Experiment:
        return resumed(before, f"start {stage}", f"input {stage} {X}", step=step)

    states = (wrong(4, "sum", 3), wrong(5, "sum", 4), wrong(8, "tell", 6))
    verdict = judged(*states, replays=states)
    assert [failure.count for failure in verdict.failures] == [2, 1]


# --- what it does not apply to -------------------------------------------------------------------


def test_torn_writes_and_unusable_resumes_say_nothing() -> None:
    cut = tried(torn(7), events_before=RUN[:3], events_after=sums(X))
    assert judged(GOOD, cut).outcome is Outcome.PASSED
    refused = resumed(3, *sums(X), resume=ran(refusal="no network"))
    assert not judged(refused, replays=(refused,)).failures


def test_without_input_lines_it_is_not_applicable() -> None:
    verdict = judge(seen(tried(killed(3))), outputs_cross_resume)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no stage inputs were seen: ")


def test_what_was_committed_and_not_acknowledged_crosses_too() -> None:
    """Killed between its commit and its done line: the resume goes on with the next."""
    assert judged(resumed(2, *RUN[3:], step=3)).outcome is Outcome.PASSED
    wrong = resumed(2, *sums(X), step=3)
    assert judged(wrong, replays=(wrong,)).outcome is Outcome.FAILED


def test_where_nothing_crosses_a_crash_there_is_nothing_to_judge() -> None:
    """Nothing had been done, or what had been begun is begun again."""
    verdict = judged(resumed(0, *RUN), resumed(1, *RUN, step=8))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no resume gave a stage something that an earlier stage had")
