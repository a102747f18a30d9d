"""io-error-is-not-success: what a run shows of which a call fails; and a power loss after it."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.evidence import Coverage, Trial, TrialKind
from checkpoint_contracts.io_error import io_error_is_not_success, shows_same_loss
from checkpoint_contracts.trial import Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import checked, ran, undisturbed
from tests.contracts.fault_builders import (
    FETCH,
    LOUD,
    OTHER,
    SUM,
    broken,
    faulted,
    judged,
    resume,
    run,
)

CONTRACT = io_error_is_not_success


def failed(*legs: Leg, variant: str = "eio", **fields: Any) -> Trial:
    return faulted(TrialKind.IO_ERROR, variant, *legs, **fields)


def lost(*legs: Leg, **fields: Any) -> Trial:
    variant = "eio+9.power-loss-names-kept-data-lost"
    return faulted(TrialKind.FAILED_SYNC, variant, *legs, **fields)


CRASHED = run(ran(1), *FETCH, killed=True)
SURVIVED = failed(run(LOUD, *FETCH), resume(ran(), *SUM))


def test_survived() -> None:
    verdict = judged(CONTRACT, SURVIVED, lost(CRASHED, resume(ran(), *SUM)))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert (verdict.states_explored, verdict.states_total) == (2, 2)


def test_a_job_that_syncs_nothing_has_nothing_to_lose_by_it() -> None:
    assert judged(CONTRACT, SURVIVED).outcome is Outcome.PASSED


def test_exit_0_with_another_result() -> None:
    assert broken(CONTRACT, failed(run(ran(), *FETCH, *SUM), check=OTHER)) == [
        (Symptom.ERROR_AS_SUCCESS, "the run exits 0 with another result")
    ]


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (Shown(), "the fault did not fire: the fault at step 7 (write state.json): the run exits"),
        (
            Shown(step=7, drift="it came to step 3 another way"),
            "the fault at step 7 (write state.json): it came to step 3 another way",
        ),
    ],
)
def test_where_the_fault_was_not_placed_nothing_is_concluded(shown: Shown, reason: str) -> None:
    """Whatever the run made of it."""
    wrong = failed(run(ran(), *FETCH), check=OTHER, shown=shown)
    verdict = judged(CONTRACT, wrong)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(reason)


def test_the_power_takes_what_was_acknowledged_after_the_failed_sync() -> None:
    trial = lost(CRASHED, resume(ran(), *FETCH, *SUM), lost=("write state.json (step 6) lost",))
    assert broken(CONTRACT, trial) == [
        (Symptom.DONE_AGAIN, "the resume runs fetch again, which had been done")
    ]
    (failure,) = judged(CONTRACT, trial).failures
    assert "lost with the power:\nwrite state.json (step 6) lost" in failure.finding.seen
    assert "a second sync of the same file, which proves nothing" in failure.finding.likely_cause


def test_the_power_leaves_what_cannot_be_read() -> None:
    assert broken(CONTRACT, lost(CRASHED, resume(LOUD))) == [
        (Symptom.RESUME_FAILED, "the resume exits 1")
    ]


def test_what_was_not_acknowledged_may_be_done_again() -> None:
    silent = run(ran(1), "start fetch", killed=True)
    trial = lost(silent, resume(ran(), *FETCH, *SUM))
    assert judged(CONTRACT, SURVIVED, trial).outcome is Outcome.PASSED


def test_what_is_lost_although_the_sync_succeeds_is_no_matter_of_it() -> None:
    again = resume(ran(), *FETCH, *SUM)
    trial = lost(CRASHED, again, unspoilt=(again,), unspoilt_check=checked())
    assert judged(CONTRACT, SURVIVED, trial).outcome is Outcome.PASSED
    # The same loss fails in another way without the failed sync: this way is the sync's.
    other = lost(CRASHED, again, unspoilt=(resume(LOUD),), unspoilt_check=None)
    assert broken(CONTRACT, other)[0][0] is Symptom.DONE_AGAIN


def test_only_the_very_same_stages_run_again_are_the_same_loss() -> None:
    """Without it a loss of what was acknowledged before the sync is put down to the sync."""
    late = run(ran(1), *FETCH, *SUM, killed=True)
    trial = lost(late, resume(ran(), *FETCH))
    assert shows_same_loss(trial, lost(CRASHED, resume(ran(), *FETCH, *SUM)), undisturbed())
    # The sum was acknowledged after the sync, and it is gone as well: that is the sync's.
    both = lost(late, resume(ran(), *FETCH, *SUM))
    assert not shows_same_loss(both, lost(CRASHED, resume(ran(), *FETCH, *SUM)), undisturbed())
    # Resumes that fail may have failed for two reasons; and nothing is not the same as nothing.
    assert not shows_same_loss(lost(late, resume(LOUD)), lost(CRASHED, resume(LOUD)), undisturbed())
    kept = lost(late, resume(ran()))
    assert not shows_same_loss(kept, kept, undisturbed())


def test_exit_0_that_acknowledges() -> None:
    done = run(ran(), *FETCH, *SUM, killed=True)
    sound = lost(done, resume(ran()), unresumed_check=checked())
    assert judged(CONTRACT, SURVIVED, sound).outcome is Outcome.PASSED
    trial = lost(done, resume(ran()), unresumed_check=checked("", 1))
    assert broken(CONTRACT, trial) == [
        (
            Symptom.LOST_AFTER_EXIT,
            "the job had exited 0, and without a resume there is a check that exits 1",
        )
    ]


def test_a_power_loss_that_was_not_tried_passes_nothing() -> None:
    coverage = {
        TrialKind.IO_ERROR: Coverage(derived=1, unique=1, explored=1),
        TrialKind.FAILED_SYNC: Coverage(derived=2, unique=2, explored=0, unreached=("a loss",)),
    }
    verdict = judged(CONTRACT, SURVIVED, trial_coverage=coverage)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("nothing was tried of a power loss after a failed sync")


def test_a_run_that_does_nothing_that_can_fail() -> None:
    none = Coverage(derived=0, unique=0, explored=0)
    verdict = judged(CONTRACT, trial_coverage=dict.fromkeys(CONTRACT.kinds, none))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
