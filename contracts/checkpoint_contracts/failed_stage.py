"""``failed-stage-is-retried``: a stage raises once, and must run again.

Each stage in turn raises in its first execution. Judged, in this order:

1.  the run passes its deadline → failed: hang
2.  it exits 0: the check must say what it says undisturbed, and the stage must have been started
    once more than undisturbed, for it failed once → else failed: the failure was taken as done
3.  it exits otherwise: the resume, without the fault, must exit 0 and the check say what it says
    undisturbed; the resume must start the stage (unless the run itself had retried it), and none
    that was done before

Where the stage was never started, or the run exits 0 as if nothing had happened, the fault did not
fire, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import FAILED_STAGE_IS_RETRIED
from checkpoint_contracts.resume_contracts import STAGES
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import (
    Seen,
    TrialContract,
    did_not_fire,
    finding,
    lines,
    told,
    wrong_check,
)
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, listed, quoted

STAGE_FAULTS: Final = "stage-faults"
"""The capability: the subject honours ``CHECKPOINT_STAGE_FAULT=raise:NAME:TIMES``."""

_COUNTED_AS_DONE: Final = (
    "The failure is caught and the stage recorded as done, or as something that the resume takes "
    "for done. Record a stage as done only when its output is saved; on a failure record nothing, "
    "or 'failed', write a fail line, and stop with an exit code other than 0, so that the resume "
    "runs it again."
)
_ALL_AGAIN: Final = (
    "The failure throws the progress of the other stages away, or that progress is saved only when "
    "the whole run ends well. Save it after every stage, and leave it alone when another one fails."
)
_TRIPS: Final = (
    "The failed stage left something behind that its next attempt, or the resume, trips over (a "
    "half-written file, a lock, a mark 'failed' that nothing clears). Let a stage begin by "
    "clearing what an earlier attempt of it left."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    run = trial.legs[0]
    if not lines(run, "start", trial.stage):
        return did_not_fire(trial, f"no line 'start {trial.stage}' was seen; {told(run)}")
    if run.execution.timed_out:
        return (_ended_badly(trial, run, Symptom.HANG, reference),)
    if run.execution.succeeded:
        return _within_the_run(trial, run, reference)
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the job was not resumed after it had failed"
    return _after_a_resume(trial, run, trial.legs[1], reference)


def _within_the_run(trial: Trial, run: Leg, reference: Reference) -> Seen:
    """The run exits 0, so it must have retried the stage by itself."""
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run"
    wrong = wrong_check(trial.check, reference.check)
    if wrong is not None:
        symptom, words, expected, seen = wrong
        what = f"the run exits 0 with {words}"
        if symptom is Symptom.CHECK_HANG:
            return (_finding(trial, symptom, what, (expected, seen), _TRIPS),)
        what += ": the failure was taken as done"
        texts = (f"the stage again, or an exit code other than 0; {expected}", seen)
        return (_finding(trial, Symptom.FAILURE_AS_DONE, what, texts, _COUNTED_AS_DONE),)
    if _retried(trial, run, reference):
        return ()
    failed = lines(run, "fail", trial.stage) > reference.events.count(f"fail {trial.stage}")
    if not failed and lines(run, "done", trial.stage):
        return did_not_fire(
            trial,
            f"with CHECKPOINT_STAGE_FAULT=raise:{trial.stage}:1 the run exits 0 as if nothing had "
            "happened",
        )
    return (_never_again(trial, "the run exits 0", run),)


def _after_a_resume(trial: Trial, run: Leg, resume: Leg, reference: Reference) -> Seen:
    check = trial.check
    if resume.execution.succeeded and check is None:
        return f"{trial.point.operation}: the check was not run after the resume"
    return tuple(_resumed(trial, run, resume, reference))


def _resumed(trial: Trial, run: Leg, resume: Leg, reference: Reference) -> Iterator[Finding]:
    """At most one wrong end, and the stages that ran again."""
    restarted = bool(lines(resume, "start", trial.stage))
    check = trial.check
    wrong = None if check is None else wrong_check(check, reference.check)
    if resume.execution.timed_out:
        yield _ended_badly(trial, resume, Symptom.HANG, reference)
    elif not resume.execution.succeeded:
        yield _ended_badly(trial, resume, Symptom.RESUME_FAILED, reference)
    elif not restarted and not _retried(trial, run, reference):
        yield _never_again(trial, "the resume exits 0", resume)
    elif wrong is not None:
        symptom, words, expected, seen = wrong
        what = f"the resume exits 0 with {words}"
        yield _finding(trial, symptom, what, (expected, seen), _TRIPS)
    others = [stage for stage in stage_names(reference.events) if stage != trial.stage]
    again = done_again(others, run.events, resume.events)
    if again:
        yield _finding(
            trial,
            Symptom.DONE_AGAIN,
            f"the resume runs {listed(again)} again, which had been done",
            (
                f"no start line for {listed(again)}: the done line stood there before the failure",
                "the resume appended " + listed(tuple(f"start {name}" for name in again)),
            ),
            _ALL_AGAIN,
        )


def _retried(trial: Trial, run: Leg, reference: Reference) -> bool:
    """Whether the run itself started the stage again, and got it done."""
    started = lines(run, "start", trial.stage)
    usual = reference.events.count(f"start {trial.stage}")
    return started > usual and bool(lines(run, "done", trial.stage))


def _never_again(trial: Trial, exits: str, leg: Leg) -> Finding:
    return _finding(
        trial,
        Symptom.FAILURE_AS_DONE,
        f"{exits}, but the stage was never run again: the failure was taken as done",
        (
            f"another line 'start {trial.stage}' after the failure",
            f"no further 'start {trial.stage}'; {told(leg)}",
        ),
        _COUNTED_AS_DONE,
    )


def _ended_badly(trial: Trial, leg: Leg, symptom: Symptom, reference: Reference) -> Finding:
    expected = (
        "the run ends by its deadline, retried or failed"
        if leg is trial.legs[0]
        else f"the resume exits 0 and the check says: {quoted(reference.check.output)}"
    )
    what = f"the {leg.command} {ending(leg.execution)}"
    return _finding(trial, symptom, what, (expected, told(leg)), _TRIPS)


def _finding(
    trial: Trial, symptom: Symptom, what: str, texts: tuple[str, str], cause: str
) -> Finding:
    expected, seen = texts
    return finding(
        FAILED_STAGE_IS_RETRIED, trial, symptom, what, expected=expected, seen=seen, cause=cause
    )


failed_stage_is_retried: Final = TrialContract(
    id=FAILED_STAGE_IS_RETRIED,
    promise="a stage that failed runs again on resume, and those that were done do not",
    explanation="""\
Each stage in turn is made to raise in its first execution (CHECKPOINT_STAGE_FAULT=raise:NAME:1), in
a fresh workspace. If the run exits 0 it must have retried the stage itself: a further line `start
NAME`, and a check that says what it says undisturbed. If it fails, the job is resumed without the
fault: the resume must exit 0, start the stage again, start none that was done before the failure,
and end with the result of the undisturbed run. How a job retries within one run is its own affair.
Where the fault did not fire (the stage was never started, or the run ends as if nothing had
happened) nothing is concluded: inconclusive. Up to twelve stages are tried, or all with
--checkpoint-exhaustive.

It is broken by a failure that is caught and recorded as done, by a failure that throws the progress
of all other stages away, and by leftovers of the failed attempt that the next one trips over.

Keep it: record a stage as done only when its output is saved; on a failure leave the rest of the
progress alone and exit with another code than 0; let the resume run whatever is not recorded as
done.""",
    kinds=(TrialKind.RAISES_ONCE,),
    needs=frozenset({STAGES, STAGE_FAULTS}),
    look=_look,
)
