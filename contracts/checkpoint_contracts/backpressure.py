"""``backpressure-bounds-staging``: a store that is slower than the job, or does not answer.

In this order, of each trial:

1.  the staging holds more data at some moment than the job says it ever does → failed
2.  of a store that never answers: the run ends by itself by its deadline, with an exit code other
    than 0 and a word
3.  otherwise the run, or the resume of a killed one, exits 0 by its deadline, and the check says
    what it says undisturbed

Of a slow store nothing is concluded where no upload was kept waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.bucket import S3
from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import BACKPRESSURE_BOUNDS_STAGING
from checkpoint_contracts.staged import STAGING, Staged
from checkpoint_contracts.tried import (
    Seen,
    TrialContract,
    did_not_fire,
    finding,
    told,
    wrong_check,
)
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, quoted

_SLOWED: Final = (
    TrialKind.STORE_SLOW,
    TrialKind.STORE_STALLED,
    TrialKind.STORE_RECOVERS,
)
_KINDS: Final = (TrialKind.STORE_HEALTHY, TrialKind.STAGING_LEFT, *_SLOWED)
_PASSED: Final = (
    "Room is looked at before something is made, and not reserved until it is written: several are "
    "on their way at once, or what is waited in is counted in items and not in bytes. Reserve the "
    "bytes of a file before the work for it begins, count what is reserved and what lies there "
    "together, and give back when the file is removed."
)
_LEFT: Final = (
    "What a killed run has left in the staging is not counted, and not removed. Remove at the "
    "start what an earlier start of the same shard left, or count it before anything is made."
)
_SLEEPS: Final = (
    "What makes the files waits for ever for what takes them away, and nobody notices that it has "
    "died or is never answered. Give every request a time-out and a number of tries, hand an error "
    "of the uploader to the main thread, and wait for room with a deadline; then exit with a "
    "sentence."
)
_FORGIVES: Final = (
    "An upload that was never answered is taken for done. Exit 0 only when the store has answered "
    "for every object."
)
_GIVES_UP: Final = (
    "The job gives up where it should wait: a store that is slow, or that answers again after a "
    "short while, is no reason to fail. Wait as long as there is progress, and try a request again "
    "that was not answered in time."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    staged = trial.staging
    if staged is None or staged.peak_bytes is None:
        return f"{trial.point.operation}: how much lay in the staging is not known"
    if trial.kind in _SLOWED and not staged.slowed:
        return did_not_fire(
            trial,
            f"no upload was kept waiting, since the job stored no object; {told(trial.legs[0])}",
        )
    passed = tuple(_passed(trial, staged, staged.peak_bytes))
    if trial.kind is TrialKind.STORE_STALLED:
        return (*passed, *_of_a_dead_store(trial))
    return (*passed, *_ended(trial, reference))


def _passed(trial: Trial, staged: Staged, peak_bytes: int) -> Iterator[Finding]:
    if peak_bytes > staged.bound_bytes:
        yield finding(
            BACKPRESSURE_BOUNDS_STAGING,
            trial,
            Symptom.BOUND_PASSED,
            f"{peak_bytes} bytes lie in the staging, {peak_bytes - staged.bound_bytes} more than "
            "the job says",
            expected=f"never more than {staged.bound_bytes} bytes, as declared",
            seen=f"{peak_bytes} bytes after {staged.peak_at}",
            cause=_LEFT if trial.kind is TrialKind.STAGING_LEFT else _PASSED,
        )


def _of_a_dead_store(trial: Trial) -> Iterator[Finding]:
    leg = trial.legs[0]
    if leg.execution.timed_out:
        symptom, what, cause = Symptom.HANG, f"the run {ending(leg.execution)}", _SLEEPS
    elif leg.execution.succeeded:
        what = "the run exits 0 although no upload was ever answered"
        symptom, cause = Symptom.ERROR_AS_SUCCESS, _FORGIVES
    elif not leg.execution.output.strip():
        what = f"the run {ending(leg.execution)} without a word"
        symptom, cause = Symptom.SILENT_STOP, _SLEEPS
    else:
        return
    yield finding(
        BACKPRESSURE_BOUNDS_STAGING,
        trial,
        symptom,
        what,
        expected="the run ends by its deadline, with an exit code other than 0 and a word of which "
        "upload was not answered",
        seen=told(leg),
        cause=cause,
    )


def _ended(trial: Trial, reference: Reference) -> Iterator[Finding]:
    leg = trial.legs[-1]
    if not leg.execution.succeeded:
        hung = leg.execution.timed_out
        yield finding(
            BACKPRESSURE_BOUNDS_STAGING,
            trial,
            Symptom.HANG if hung else Symptom.RESUME_FAILED,
            f"the {leg.command} {ending(leg.execution)}",
            expected="it exits 0, however long that takes within its deadline, and the check says: "
            + quoted(reference.check.output),
            seen=told(leg),
            cause=_SLEEPS if hung else _GIVES_UP,
        )
        return
    wrong = None if trial.check is None else wrong_check(trial.check, reference.check)
    if wrong is not None:
        symptom, words, expected, seen = wrong
        yield finding(
            BACKPRESSURE_BOUNDS_STAGING,
            trial,
            symptom,
            f"the {leg.command} exits 0 with {words}",
            expected=expected,
            seen=seen,
            cause=_FORGIVES,
        )


def _notes(evidence: Evidence) -> tuple[str, ...]:
    peaks = [
        (one.staging.peak_bytes, one.staging.bound_bytes)
        for one in evidence.trials
        if one.kind in _KINDS and one.staging is not None and one.staging.peak_bytes is not None
    ]
    if not peaks:
        return ()
    peak, bound = max(peaks)
    return (f"at most {peak} of {bound} bytes lay in the staging",)


backpressure_bounds_staging: Final = TrialContract(
    id=BACKPRESSURE_BOUNDS_STAGING,
    promise="a store that is slower than the job does not fill the staging past its bound, and one "
    "that never answers is an error, not a wait for ever",
    explanation="""\
What is made faster than it is uploaded piles up in the staging. The job says how many bytes it ever
has there, and that is measured in the recorded operations, after each of them, by what the files
hold: in a run with a healthy store, in the resume of a run that was killed when its staging was
fullest, and in runs whose store is slow (every upload takes twice as long as the undisturbed run
takes for each of its objects), stalls for good (no upload is ever answered) or stalls and recovers
(the first uploads are answered only after longer than a whole run takes). In none of them may more
lie there than the job says. With a slow store, and with one that recovers, the run must exit 0 by
its deadline with the result of the undisturbed run; so must the resume. With one that never answers
it must end by itself by its deadline (--checkpoint-deadline), with an exit code other than 0 and a
word. A job that stores nothing in such a run is not judged: inconclusive.

It is broken by looking at the free space before a write and not reserving it, by a queue that is
bounded in items and not in bytes, by leftovers that nobody counts, by a producer that waits for
ever for an uploader that has died, and by requests without a time-out.

Keep it: reserve bytes before the work begins; pause at a high mark and go on below a low one; give
requests time-outs and a number of tries; let an error of the uploader end the job with a
sentence.""",
    kinds=_KINDS,
    needs=frozenset({S3, STAGING}),
    look=_look,
    may_lack=frozenset({TrialKind.STAGING_LEFT}),
    notes_of_all=_notes,
)
