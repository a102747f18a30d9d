"""no-space-is-survived: what a run shows that finds the disk full."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts.evidence import Coverage, Execution, Trial, TrialKind
from checkpoint_contracts.no_space import no_space_is_survived
from checkpoint_contracts.trial import Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import checked, ran, undisturbed
from tests.contracts.fault_builders import (
    FETCH,
    HUNG,
    LOUD,
    OTHER,
    SILENT,
    SUM,
    broken,
    evidence_of,
    faulted,
    judged,
    resume,
    run,
)

CONTRACT = no_space_is_survived
FULL = TrialKind.NO_SPACE


def full(*legs: Leg, variant: str = "room-17", **fields: Any) -> Trial:
    return faulted(FULL, variant, *legs, **fields)


SURVIVED = full(run(LOUD, *FETCH), resume(ran(), *SUM))


@pytest.mark.parametrize(
    "trial",
    [
        SURVIVED,
        full(run(LOUD), resume(ran(), *FETCH, *SUM)),
        full(run(ran(None, signal=6, output="bad_alloc\n")), resume(ran(), *FETCH, *SUM)),
        full(run(ran(), *FETCH, *SUM)),
        full(run(ran(), *FETCH, *SUM), resume(ran())),
        # Said to be done, and failed after that: the resume leaves it alone.
        full(run(LOUD, *FETCH, *SUM), resume(ran())),
    ],
)
def test_survived(trial: Trial) -> None:
    verdict = judged(CONTRACT, trial)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert (verdict.states_explored, verdict.states_total) == (1, 1)


def test_exit_0_with_another_result() -> None:
    assert broken(CONTRACT, full(run(ran(), *FETCH), check=OTHER)) == [
        (
            Symptom.ERROR_AS_SUCCESS,
            "the run exits 0 with another result, 1 of 2 stages not done",
        )
    ]


def test_exit_0_with_a_check_that_fails() -> None:
    trial = full(run(ran(), *FETCH, *SUM), check=checked("no total", 1))
    assert broken(CONTRACT, trial) == [
        (Symptom.ERROR_AS_SUCCESS, "the run exits 0 with a check that exits 1")
    ]


def test_exit_0_and_the_resume_of_it_fails() -> None:
    trial = full(run(ran(), *FETCH, *SUM), resume(LOUD), check=checked())
    assert broken(CONTRACT, trial) == [
        (Symptom.RESUME_FAILED, "the run exits 0, and then the resume exits 1")
    ]


def test_exit_0_and_the_resume_of_it_does_something_again() -> None:
    trial = full(run(ran(), *FETCH, *SUM), resume(ran(), *SUM))
    assert broken(CONTRACT, trial) == [
        (Symptom.DONE_AGAIN, "the resume runs sum again, which had been done")
    ]


@pytest.mark.parametrize("end", [SILENT, ran(None, signal=7)])
def test_without_a_word(end: Execution) -> None:
    ((symptom, text),) = broken(CONTRACT, full(run(end), resume(ran(), *FETCH, *SUM)))
    assert symptom is Symptom.SILENT_STOP
    assert text.endswith(" without a word")


@pytest.mark.parametrize(
    ("end", "check", "symptom", "text"),
    [
        (LOUD, None, Symptom.RESUME_FAILED, "the resume exits 1"),
        (HUNG, None, Symptom.HANG, "the resume had not ended after 10.0 s"),
        (ran(), OTHER, Symptom.DIFFERENT_RESULT, "the resume exits 0 with another result"),
        (
            ran(),
            checked("", None, timed_out=True, wall_s=10.0),
            Symptom.CHECK_HANG,
            "the resume exits 0 with a check that had not ended after 10.0 s",
        ),
    ],
)
def test_the_resume_with_room_ends_badly(
    end: Execution, check: Execution | None, symptom: Symptom, text: str
) -> None:
    trial = full(run(LOUD, *FETCH), resume(end), check=check)
    assert broken(CONTRACT, trial) == [(symptom, text)]


def test_what_was_done_before_or_after_the_error_runs_again() -> None:
    trial = full(run(LOUD, *FETCH), resume(ran(), *FETCH, *SUM))
    assert broken(CONTRACT, trial) == [
        (Symptom.DONE_AGAIN, "the resume runs fetch again, which had been done")
    ]


def test_the_run_does_not_end() -> None:
    assert broken(CONTRACT, full(run(HUNG, *FETCH))) == [
        (Symptom.HANG, "the run had not ended after 10.0 s")
    ]


def test_a_slow_run_is_judged_as_it_ended_when_it_had_more_time() -> None:
    hung = full(run(HUNG, *FETCH))
    slow = full(run(replace(LOUD, wall_s=31.0), *FETCH), resume(ran(), *SUM))
    verdict = judged(CONTRACT, hung, trial_replays=(slow,))
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == ("the fault at step 7 (write state.json): it ends after 31.0 s",)


def test_a_slow_run_that_is_wrong_in_the_end_is_a_failure() -> None:
    hung = full(run(HUNG, *FETCH))
    slow = full(run(ran(wall_s=31.0), *FETCH), check=OTHER)
    verdict = judged(CONTRACT, hung, trial_replays=(slow,))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.failures[0].finding.symptom is Symptom.ERROR_AS_SUCCESS


@pytest.mark.parametrize(
    "trial",
    [
        full(run(ran(refusal="a sentence"))),
        full(run(LOUD), resume(ran(problem="a sentence"))),
        full(run(ran()), check=checked(problem="a sentence")),
    ],
)
def test_what_could_not_be_seen_through(trial: Trial) -> None:
    verdict = judged(CONTRACT, trial)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.endswith("a sentence")


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        (full(run(LOUD)), "the job was not resumed after it had stopped"),
        (replace(SURVIVED, check=None), "the check was not run after the resume"),
        (replace(full(run(ran())), check=None), "the check was not run after the run"),
    ],
)
def test_what_was_not_done_passes_nothing(trial: Trial, reason: str) -> None:
    verdict = judged(CONTRACT, trial)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.endswith(reason)


def test_nobody_was_refused_anything() -> None:
    unnoticed = full(run(ran(), *FETCH, *SUM), shown=Shown())
    verdict = judged(CONTRACT, unnoticed)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire: no run was refused anything")
    # One that looks at the free space and stops has felt it.
    careful = full(run(LOUD), resume(ran(), *FETCH, *SUM), variant="room-16", shown=Shown())
    assert judged(CONTRACT, unnoticed, careful).outcome is Outcome.PASSED


def test_a_real_file_system_must_agree() -> None:
    real = Shown(step=7, real=True)
    same = full(*SURVIVED.legs, variant="room-17-real", shown=real)
    assert judged(CONTRACT, SURVIVED, same).outcome is Outcome.PASSED
    other = full(
        run(ran(None, signal=7, output="Bus error\n")),
        resume(ran(), *FETCH, *SUM),
        variant="room-17-real",
        shown=real,
    )
    verdict = judged(CONTRACT, SURVIVED, other)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == (
        "the fault at step 7 (write state.json): by the quota of the kit the run exits 1, and the "
        "check exits 0; on a file system of that size the run dies by SIGBUS, and the check exits "
        "0: what the quota shows is not to be trusted here"
    )


def test_how_the_disk_was_made_full_is_told() -> None:
    verdict = judged(CONTRACT, SURVIVED, room="by the kit's own count")
    assert verdict.notes == ("by the kit's own count",)


def test_a_job_that_needs_no_room() -> None:
    none = {FULL: Coverage(derived=0, unique=0, explored=0)}
    verdict = judged(CONTRACT, trial_coverage=none)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("the undisturbed run needs no block and no inode beyond")


def test_an_operation_that_was_never_the_first_to_be_refused() -> None:
    some = {FULL: Coverage(derived=9, unique=9, explored=1, unreached=("the disk is full at …",))}
    verdict = judged(CONTRACT, SURVIVED, trial_coverage=some)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "not tried is: the disk is full at …" in verdict.reason


def test_without_stages_only_the_result_is_judged() -> None:
    reference = undisturbed(events=())
    trial = full(run(LOUD), resume(ran()))
    assert judged(CONTRACT, trial, reference=reference).outcome is Outcome.PASSED
    found = CONTRACT.findings(
        evidence_of(CONTRACT, full(run(ran()), check=OTHER), reference=reference)
    )
    assert found[0].headline.endswith("the run exits 0 with another result")
