"""preemption-is-clean: what a run shows that is told to end."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.preemption import preemption_is_clean
from checkpoint_contracts.trial import Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import checked, ran
from tests.contracts.fault_builders import (
    FETCH,
    LOUD,
    OTHER,
    SILENT,
    SUM,
    broken,
    faulted,
    judged,
    resume,
    run,
)

CONTRACT = preemption_is_clean
TOLD = Shown(step=7, number=signal.SIGTERM)
OVER = Shown(step=7, number=signal.SIGTERM, grace_over=True)
KILLED = ran(None, signal=9)


def told(*legs: Leg, shown: Shown = TOLD, variant: str = "sigterm", **fields: Any) -> Trial:
    return faulted(TrialKind.SIGNALLED, variant, *legs, shown=shown, **fields)


def killed(*legs: Leg, **fields: Any) -> Trial:
    kind = TrialKind.GRACE_TOO_SHORT
    return faulted(kind, "sigterm+9.kill", *legs, shown=TOLD, **fields)


CLEAN = told(run(ran(75), *FETCH), resume(ran(), *SUM))


@pytest.mark.parametrize(
    "end", [ran(75), ran(143), ran(None, signal=15), ran(1, output="preempted\n"), LOUD]
)
def test_says_that_it_was_preempted(end: Execution) -> None:
    trial = told(run(end, *FETCH), resume(ran(), *SUM))
    verdict = judged(CONTRACT, trial, killed(run(end, *FETCH, killed=True), resume(ran(), *SUM)))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")


def test_the_end_was_near() -> None:
    assert judged(CONTRACT, told(run(ran(), *FETCH, *SUM))).outcome is Outcome.PASSED


@pytest.mark.parametrize("end", [SILENT, ran(130), ran(None, signal=2)])
def test_without_a_word(end: Execution) -> None:
    """Nor does the code of another signal say it."""
    ((symptom, text),) = broken(CONTRACT, told(run(end, *FETCH), resume(ran(), *SUM)))
    assert symptom is Symptom.SILENT_STOP
    assert text.endswith("without a word")


def test_exit_0_with_work_left() -> None:
    ((symptom, text),) = broken(CONTRACT, told(run(ran(), *FETCH), check=OTHER))
    assert symptom is Symptom.ERROR_AS_SUCCESS
    assert text == "the run exits 0 with another result, 1 of 2 stages not done"


def test_the_resume_does_what_was_done() -> None:
    trial = told(run(ran(75), *FETCH), resume(ran(), *FETCH, *SUM))
    assert broken(CONTRACT, trial)[0][0] is Symptom.DONE_AGAIN


def test_the_resume_has_another_result() -> None:
    trial = told(run(ran(75), *FETCH), resume(ran(), *SUM), check=OTHER)
    assert broken(CONTRACT, trial)[0][0] is Symptom.DIFFERENT_RESULT


def test_a_job_that_does_not_react_is_told_of_and_judged_as_killed() -> None:
    ignores = told(run(KILLED, *FETCH), resume(ran(), *SUM), shown=OVER, variant="sigint")
    verdict = judged(CONTRACT, CLEAN, ignores)
    assert verdict.outcome is Outcome.PASSED
    (note,) = verdict.notes
    assert note == (
        "at 1 of 2 signals the job had not ended when the grace was over (--checkpoint-grace), "
        "and was killed: it does not react"
    )
    worse = told(run(KILLED, *FETCH), resume(LOUD), shown=OVER)
    assert broken(CONTRACT, worse) == [(Symptom.RESUME_FAILED, "the resume exits 1")]


def test_too_short_a_grace_is_judged_as_a_kill() -> None:
    crashed = run(ran(75), *FETCH, killed=True)
    assert judged(CONTRACT, CLEAN, killed(crashed, resume(ran(), *SUM))).outcome is Outcome.PASSED
    ((symptom, _),) = broken(CONTRACT, killed(crashed, resume(LOUD)))
    assert symptom is Symptom.RESUME_FAILED


def test_a_signal_that_was_never_sent() -> None:
    """Of a step that another process did after the first one had ended."""
    late = told(run(ran(), *FETCH, *SUM), shown=Shown(), variant="sigint")
    assert judged(CONTRACT, CLEAN, late).outcome is Outcome.PASSED
    verdict = judged(CONTRACT, late)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire: no signal could be sent")
    stopped = told(run(LOUD), resume(ran()), shown=Shown(), variant="sigint", check=checked())
    assert judged(CONTRACT, CLEAN, stopped).outcome is Outcome.INCONCLUSIVE


def test_it_must_be_declared() -> None:
    verdict = judged(CONTRACT, CLEAN, capabilities=frozenset())
    assert verdict.outcome is Outcome.NOT_APPLICABLE
