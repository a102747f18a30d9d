from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import (
    judge,
    replays_needed,
    wants_second_look,
    wants_unresumed_check,
)
from checkpoint_contracts.curve import curve
from checkpoint_contracts.evidence import (
    Evidence,
    Execution,
    Experiment,
    Finished,
    Reference,
)
from checkpoint_contracts.keeps_work import resume_keeps_work
from checkpoint_contracts.verdict import Outcome, Verdict
from tests.contracts.builders import HUNG, checked, killed, ran, seen, torn, tried, undisturbed

HALF = checked("half\n", 1)
BY_CPU = ran(user_cpu_s=10.0, startup_cpu_s=1.0, bytes_written=1000, operations=20)
BY_BYTES = ran(user_cpu_s=0.1, startup_cpu_s=0.09, bytes_written=1000, operations=20)


def resumed(step: int, written: int = 0, cpu_s: float = 0.0, **fields: Any) -> Experiment:
    """From a kill point whose state did not hold the result yet, unless said otherwise."""
    fields = {"unresumed_check": HALF, **fields}
    return tried(killed(step), ran(bytes_written=written, user_cpu_s=cpu_s), **fields)


def verdict(evidence: Evidence) -> Verdict:
    return judge(evidence, resume_keeps_work)


def replayed(evidence: Evidence, *replays: Experiment) -> Evidence:
    return replace(evidence, replays=replays)


def cpu_bound(**fields: Any) -> Reference:
    return undisturbed(run=BY_CPU, finished_resume=ran(user_cpu_s=1.0), **fields)


@pytest.mark.parametrize(
    ("point", "wanted"),
    [(killed(15), True), (killed(14), False), (killed(20), True), (torn(18), False)],
)
def test_the_un_resumed_state_is_wanted_in_the_last_quarter_of_kills(
    point: Any, wanted: bool
) -> None:
    assert wants_unresumed_check(point) is wanted


def test_a_job_that_goes_on_passes_with_its_curve_and_worst_loss() -> None:
    evidence = seen(resumed(0, 1000), resumed(10, 500), resumed(16, 200), resumed(18, 100))
    seen_as = verdict(evidence)
    assert seen_as.outcome is Outcome.PASSED
    assert seen_as.reason == ""
    assert seen_as.notes[1] == (
        "resume ÷ run (bytes written), by where the kill was: "
        "0 %: 1.00, 50 %: 0.50, 80 %: 0.20, 90 %: 0.10"
    )
    assert seen_as.notes[2] == (
        "worst loss in the last quarter: killed at step 16 (write state.json), "
        "resume repeats 20% of the run (bytes written)"
    )


def test_bytes_decide_where_cpu_is_not_judged_and_a_note_says_so() -> None:
    evidence = seen(resumed(16, 200, cpu_s=0.1), resumed(18, 100, cpu_s=0.1))
    assert verdict(evidence).outcome is Outcome.PASSED
    assert verdict(evidence).notes[0].startswith("CPU is not judged: start-up takes 0.09 s")
    assert "bytes decide" in verdict(evidence).notes[0]


def test_cpu_decides_where_it_is_judged_whatever_the_bytes() -> None:
    """A log that is written anew with each start is no lost work."""
    evidence = seen(resumed(16, 1000, 3.0), resumed(18, 1000, 2.0), reference=cpu_bound())
    assert verdict(evidence).outcome is Outcome.PASSED
    restarting = seen(resumed(16, 0, 10.0), resumed(18, 0, 9.1), reference=cpu_bound())
    assert replays_needed(restarting) == (killed(18),)


def test_a_restart_is_replayed_where_it_looks_best_and_then_failed() -> None:
    evidence = seen(resumed(16, 1000), resumed(17, 900), resumed(18, 950))
    assert replays_needed(evidence) == (killed(17),)
    assert verdict(evidence).outcome is Outcome.INCONCLUSIVE
    confirmed = replayed(evidence, resumed(17, 900))
    assert replays_needed(confirmed) == ()
    failed = verdict(confirmed)
    assert failed.outcome is Outcome.FAILED
    assert failed.faults_failed == ("kill",)
    (failure,) = failed.failures
    assert failure.finding.headline == (
        "killed at step 17 (write state.json): resume repeats 90% of the run (bytes written): "
        "it does not resume, it restarts"
    )


def test_a_restart_that_does_not_repeat_is_inconclusive() -> None:
    evidence = replayed(seen(resumed(16, 1000), resumed(17, 900)), resumed(17, 899))
    assert verdict(evidence).outcome is Outcome.INCONCLUSIVE
    assert verdict(evidence).reason.startswith("flaky subject: ")
    assert replays_needed(evidence) == ()


def test_one_point_of_the_last_quarter_below_the_ratio_acquits() -> None:
    evidence = seen(resumed(15, 1000), resumed(16, 1000), resumed(17, 899))
    assert verdict(evidence).outcome is Outcome.PASSED


def test_a_point_before_the_last_quarter_neither_acquits_nor_accuses() -> None:
    evidence = seen(resumed(14, 10), resumed(15, 1000), resumed(16, 1000))
    assert replays_needed(evidence) == (killed(15),)


def test_the_ratio_is_an_option() -> None:
    evidence = seen(resumed(15, 600), resumed(16, 500), restart_ratio=0.5)
    assert replays_needed(evidence) == (killed(16),)
    assert replays_needed(replace(evidence, restart_ratio=0.51)) == ()


def test_torn_writes_do_not_count() -> None:
    tear = tried(torn(19), ran(bytes_written=0), unresumed_check=HALF)
    evidence = seen(resumed(15, 1000), resumed(16, 1000), tear)
    assert replays_needed(evidence) == (killed(15),)


def test_points_at_which_the_result_was_there_are_left_out() -> None:
    finished = resumed(19, 0, unresumed_check=checked())
    evidence = seen(resumed(15, 1000), resumed(16, 1000), finished)
    assert replays_needed(evidence) == (killed(15),)


@pytest.mark.parametrize("before", [checked("41\n"), checked(exit_code=1), HUNG])
def test_a_state_whose_check_fails_or_differs_does_not_hold_the_result(before: Execution) -> None:
    evidence = seen(resumed(15, 1000), resumed(16, 100, unresumed_check=before))
    assert verdict(evidence).outcome is Outcome.PASSED


def test_resumes_that_ended_badly_are_left_out() -> None:
    failed = replace(resumed(17), resume=ran(1), check=None)
    wrong = resumed(18, 0, check=checked("41\n"))
    evidence = seen(resumed(15, 1000), resumed(16, 1000), failed, wrong)
    assert [finding.point for finding in resume_keeps_work.findings(evidence)] == [killed(15)]


def test_fewer_than_two_points_is_not_applicable() -> None:
    finished = resumed(19, 0, unresumed_check=checked())
    failed = replace(resumed(17), resume=ran(1), check=None)
    evidence = seen(resumed(0, 1000), resumed(15, 1000), failed, finished)
    assert verdict(evidence).outcome is Outcome.NOT_APPLICABLE
    assert verdict(evidence).reason == (
        "only 1 kill point of the run's last quarter can be judged, 2 are needed (left out: "
        "1 at which the result was already there, 1 from which the resume did not end well)"
    )
    two = seen(resumed(0, 1000), resumed(15, 1000), resumed(16, 1000))
    assert replays_needed(two) == (killed(15),)


def test_fewer_than_two_points_is_inconclusive_while_more_might_be_found() -> None:
    unknown = resumed(17, unresumed_check=None)
    evidence = seen(resumed(15, 1000), unknown)
    assert verdict(evidence).outcome is Outcome.INCONCLUSIVE
    assert "1 kill point of the run's last quarter" in verdict(evidence).reason


def test_points_of_which_it_is_not_known_are_left_out() -> None:
    unknown = resumed(17, 0, unresumed_check=None)
    evidence = seen(resumed(15, 1000), resumed(16, 1000), unknown)
    assert replays_needed(evidence) == (killed(15),)


@pytest.mark.parametrize("problem", ["resume", "unresumed"])
def test_while_a_point_could_not_be_seen_nothing_is_said_of_every_point(problem: str) -> None:
    spoiled = (
        replace(resumed(17), resume=ran(problem="a process survived"))
        if problem == "resume"
        else resumed(17, unresumed_check=checked(problem="a process survived"))
    )
    evidence = seen(resumed(15, 1000), resumed(16, 1000), spoiled)
    assert resume_keeps_work.findings(evidence) == ()
    assert verdict(evidence).outcome is Outcome.INCONCLUSIVE
    assert verdict(evidence).reason == "a process survived"


def test_nothing_to_measure_by_is_not_applicable() -> None:
    run = ran(user_cpu_s=0.1, startup_cpu_s=0.09, operations=20)
    evidence = seen(resumed(15), resumed(16), reference=undisturbed(run=run))
    assert verdict(evidence).outcome is Outcome.NOT_APPLICABLE
    assert "writes no bytes under the workspace" in verdict(evidence).reason


# --- it starts over even when it is done -------------------------------------------------------

ALL_AGAIN = ran(user_cpu_s=0.1, bytes_written=1000, operations=20)


def test_a_job_that_writes_nothing_before_its_end_starts_over_when_done() -> None:
    """No point of the last quarter remains: the result is there, or the job is one step."""
    reference = undisturbed(finished_resume=ALL_AGAIN)
    evidence = seen(resumed(0, 1000), reference=reference)
    failed = verdict(evidence)
    assert failed.outcome is Outcome.FAILED
    assert failed.failures[0].finding.headline == (
        "resumed after it had finished: resume writes 100% of the run's bytes again: "
        "it starts over even when it is done"
    )
    assert failed.failures[0].finding.point.id == "20.kill"
    assert replays_needed(evidence) == ()


@pytest.mark.parametrize(
    ("cpu_s", "written", "operations", "found"),
    [
        (9.0, 900, 18, True),
        (8.9, 900, 18, False),
        (9.0, 899, 18, False),
        (9.0, 900, 17, False),
    ],
)
def test_all_three_must_be_repeated(
    cpu_s: float, written: int, operations: int, found: bool
) -> None:
    finished = ran(user_cpu_s=cpu_s, bytes_written=written, operations=operations)
    reference = undisturbed(run=BY_CPU, finished_resume=finished)
    evidence = seen(resumed(15, cpu_s=1.0), resumed(16, cpu_s=1.0), reference=reference)
    assert verdict(evidence).outcome is (Outcome.FAILED if found else Outcome.PASSED)


def test_the_kill_after_the_last_step_is_its_replay() -> None:
    reference = undisturbed(finished_resume=ALL_AGAIN)
    same = seen(resumed(0, 1000), tried(killed(20), ALL_AGAIN), reference=reference)
    assert verdict(same).outcome is Outcome.FAILED
    other = seen(resumed(0, 1000), resumed(20, 0, unresumed_check=checked()), reference=reference)
    assert verdict(other).outcome is Outcome.INCONCLUSIVE
    assert verdict(other).reason.startswith("flaky subject: ")


def test_both_rules_may_fail_at_once() -> None:
    evidence = replayed(
        seen(
            resumed(16, 1000), resumed(17, 1000), reference=undisturbed(finished_resume=ALL_AGAIN)
        ),
        resumed(16, 1000),
    )
    assert len(verdict(evidence).failures) == 2


# --- jobs ---------------------------------------------------------------------------------------


def steps(cost: Any) -> list[Experiment]:
    return [resumed(step, **cost(step)) for step in range(20)] + [
        resumed(20, **cost(20), unresumed_check=checked())
    ]


def confirm(evidence: Evidence) -> Evidence:
    """As the kit does it, the replays showing the same as the experiments."""
    by_point = {experiment.point: experiment for experiment in evidence.experiments}
    while needed := replays_needed(evidence):
        evidence = replayed(evidence, *evidence.replays, *(by_point[point] for point in needed))
    return evidence


@pytest.mark.parametrize(
    ("reference", "cost"),
    [
        (undisturbed(), lambda step: {"written": 1000}),  # checkpoints never read, short
        (cpu_bound(), lambda step: {"cpu_s": 10.0}),  # no checkpoint, long
        (undisturbed(), lambda step: {"written": 950 if step else 1000}),  # from the oldest of 20
    ],
)
def test_jobs_that_restart_fail(reference: Reference, cost: Any) -> None:
    assert verdict(confirm(seen(*steps(cost), reference=reference))).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("reference", "cost"),
    [
        (undisturbed(), lambda step: {"written": 1000 - 50 * step}),
        (cpu_bound(), lambda step: {"cpu_s": 10.0 - 0.45 * step}),
        # Three commits: 0, 1, 2 of them are there, and the job writes the rest.
        (undisturbed(), lambda step: {"written": 1000 - 333 * (step // 7)}),
        # Everything is loaded and written anew at the end, which costs bytes but no CPU.
        (cpu_bound(), lambda step: {"written": 1000, "cpu_s": 10.0 - 0.45 * step}),
    ],
)
def test_jobs_that_go_on_pass(reference: Reference, cost: Any) -> None:
    evidence = confirm(seen(*steps(cost), reference=reference))
    assert verdict(evidence).outcome is Outcome.PASSED


def test_the_curve_has_both_ratios_never_added() -> None:
    evidence = seen(resumed(10, 300, 5.5), resumed(5, 1000, 7.75), reference=cpu_bound())
    assert [(point.position, point.cpu_ratio, point.byte_ratio) for point in curve(evidence)] == [
        (0.25, 0.75, 1.0),
        (0.5, 0.5, 0.3),
    ]
    notes = verdict(evidence).notes
    assert notes[0].startswith("resume ÷ run (user CPU less start-up)")
    assert notes[1].startswith("resume ÷ run (bytes written)")


def test_one_state_may_stand_for_several_kill_points() -> None:
    point = killed(14)
    assert not wants_unresumed_check(point)
    assert wants_unresumed_check(point, (15, 16))
    assert tried(point, equal_steps=(15, 16)).kills_from(0.75) == 2


def test_one_further_look_at_the_finished_job_is_enough() -> None:
    """CPU is noisy: a look at 85 % does not acquit what another one shows again."""
    low = ran(user_cpu_s=8.5, bytes_written=1000, operations=20)
    full = ran(user_cpu_s=9.5, bytes_written=1000, operations=20)
    reference = undisturbed(run=BY_CPU, finished_resume=full)
    last = tried(killed(20), low, unresumed_check=checked())

    def outcome_with(again: Execution | None) -> Outcome:
        finished = None if again is None else Finished(resume=again)
        seen_again = replace(reference, finished_again=finished)
        return judge(seen(last, reference=seen_again), resume_keeps_work).outcome

    assert outcome_with(full) is Outcome.FAILED
    assert outcome_with(low) is Outcome.INCONCLUSIVE
    assert outcome_with(None) is Outcome.INCONCLUSIVE
    assert wants_second_look(reference)
    assert not wants_second_look(
        replace(reference, finished_resume=ran(), finished_check=checked())
    )


def test_one_low_look_at_the_finished_job_acquits_nobody() -> None:
    """CPU is noisy: what two of three looks show is shown, whichever of them came first."""
    low = ran(user_cpu_s=8.5, bytes_written=1000, operations=20)
    full = ran(user_cpu_s=9.5, bytes_written=1000, operations=20)
    reference = undisturbed(run=BY_CPU, finished_resume=low)
    assert wants_second_look(reference)

    def outcome(again: Execution, last: Execution) -> Outcome:
        known = replace(reference, finished_again=Finished(resume=again))
        goes_on = (resumed(15, cpu_s=1.0), resumed(16, cpu_s=1.0))
        after_the_end = tried(killed(20), last, unresumed_check=checked())
        return verdict(seen(*goes_on, after_the_end, reference=known)).outcome

    assert outcome(full, full) is Outcome.FAILED
    assert outcome(full, low) is Outcome.PASSED
    assert outcome(low, low) is Outcome.PASSED


def whole_run_from(step: int, cpu_s: float, **fields: Any) -> Experiment:
    again = {"user_cpu_s": cpu_s, "bytes_written": 1000, "operations": 20, **fields}
    return tried(killed(step), ran(**again), unresumed_check=HALF)


def test_a_control_run_on_a_busy_machine_acquits_nobody() -> None:
    """What a machine does besides only adds to a run's CPU: here 15 %, to both control runs."""
    seen_again = {"reference": cpu_bound()}
    restarts = [whole_run_from(step, 8.65) for step in (15, 16)]
    assert verdict(seen(*restarts, **seen_again)).outcome is Outcome.PASSED
    evidence = seen(whole_run_from(0, 8.5), *restarts, **seen_again)
    assert verdict(confirm(evidence)).outcome is Outcome.FAILED
    notes = verdict(evidence).notes
    assert notes[0].startswith(
        "resume ÷ run (user CPU less start-up), by where the kill was: 0 %: 1.00"
    )
    # By the finished job, too.
    finished = ran(user_cpu_s=8.65, bytes_written=1000, operations=20)
    over_when_done = undisturbed(run=BY_CPU, finished_resume=finished)
    late = (resumed(16, cpu_s=1.0), tried(killed(20), finished, unresumed_check=checked()))
    assert verdict(seen(*late, reference=over_when_done)).outcome is not Outcome.FAILED
    evidence = seen(whole_run_from(0, 8.5), *late, reference=over_when_done)
    assert verdict(evidence).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "other",
    [
        whole_run_from(1, 5.0),  # something was done already
        whole_run_from(0, 5.0, operations=19),
        whole_run_from(0, 5.0, bytes_written=999),
        whole_run_from(0, 5.0, exit_code=1),
    ],
)
def test_only_a_whole_run_from_the_untouched_start_is_one_more_undisturbed_run(
    other: Experiment,
) -> None:
    evidence = seen(other, resumed(15, cpu_s=8.0), resumed(16, cpu_s=8.0), reference=cpu_bound())
    assert verdict(evidence).outcome is Outcome.PASSED


def test_what_decides_does_not_change_with_what_was_explored() -> None:
    """By a whole run of so little CPU it would not be judged any more: bytes would, all of them."""
    late = [resumed(step, 1000, cpu_s=2.0) for step in (15, 16)]
    evidence = seen(whole_run_from(0, 1.1), *late, reference=cpu_bound())
    assert verdict(confirm(evidence)).outcome is Outcome.PASSED


def test_where_cpu_is_not_judged_the_control_runs_are_the_reference() -> None:
    """What resumes from the start seem to use may lack the start-up there: they may start warm."""
    run = ran(user_cpu_s=0.25, startup_cpu_s=0.15, bytes_written=1000, operations=20)
    finished = ran(user_cpu_s=0.18, bytes_written=1000, operations=20)
    reference = undisturbed(run=run, finished_resume=finished)
    late = (
        resumed(15, 100),
        resumed(16, 100),
        tried(killed(20), finished, unresumed_check=checked()),
    )
    evidence = seen(whole_run_from(0, 0.1), *late, reference=reference)
    assert verdict(evidence).outcome is Outcome.PASSED
