"""``upload-faults-are-survived``: what the store fails at is tried again, within bounds.

In this order:

*once* (an upload fails, or its connection breaks, and the next attempt would succeed)
    1.  the run passes its deadline → failed: hang; where the store did not answer at all it waits
        for longer than it is given here, which is a note
    2.  it must exit 0, every object be held as it was sent, the check say what it says undisturbed
*for good* (an upload fails as often as it is tried)
    1.  more than 100 attempts at one upload → failed, whether or not the run ends
    2.  ten or more with hardly a pause between them → failed
    3.  the run passes its deadline → failed: hang
    4.  it exits 0 → as above; it exits otherwise → it must have said something, and the resume,
        with a store that works, must exit 0, every object be held, the check say what it should
*refused* (403, a bucket that is not there, as often as it is asked)
    1.  more than two attempts at one request → failed
    2.  as for good, 3 and 4
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.bucket import S3, StoreRequest
from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import UPLOAD_FAULTS_ARE_SURVIVED
from checkpoint_contracts.objects_held import wrong_objects
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import (
    Seen,
    TrialContract,
    did_not_fire,
    finding,
    told,
    wrong_check,
)
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, ending, quoted

ENDLESS: Final = 100
"""Attempts at one upload; more are no budget."""
REFUSED: Final = 2
"""Attempts at one request that is refused: one, and one with fresh credentials."""
_MANY: Final = 10
"""Attempts from which on the pauses between them are looked at: fewer do no harm."""
_PAUSE_S: Final = 0.02
"""On average: a first pause of botocore's may be nought, ten of them take seconds."""
NO_ANSWER: Final = "hang"
"""The end of the variant of a trial in which the store does not answer."""

_CAUSES: Final = {
    Symptom.NOT_RETRIED: (
        "One answer 500 or 503, or one broken connection, ends the job. Try again, a few times, "
        "with a pause that grows; most stores ask for just that (SlowDown)."
    ),
    Symptom.ENDLESS_RETRY: (
        "The upload is tried again without end. Give up after a number of attempts, with a "
        "sentence that names the object and the last answer."
    ),
    Symptom.NO_PAUSE: (
        "The upload is tried again at once, again and again, which makes a loaded store worse. "
        "Wait between attempts, longer each time, with some chance in it."
    ),
    Symptom.REFUSAL_RETRIED: (
        "A refusal is taken for a fault that passes. 403 and a bucket that is not there do not "
        "mend themselves: stop at once, and say what was refused."
    ),
    Symptom.SILENT_STOP: (
        "The job stops without a word, so nobody learns what the store answered. Print the object, "
        "the answer and what to do before it exits."
    ),
    Symptom.HANG: (
        "The job waits for an answer that does not come, or tries again without end. Set connect "
        "and read time-outs, and give up after a number of attempts."
    ),
    Symptom.ERROR_AS_SUCCESS: (
        "The failed upload is not looked at, and what was not stored is taken as done. Let it stop "
        "the job, with an exit code other than 0, when the attempts are used up."
    ),
}
_TRIPS: Final = (
    "What the failed upload left (a marker without its object, an entry in a list of what is done) "
    "keeps the resume from uploading it. Write the marker only when the object is in the bucket."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    run = trial.legs[0]
    if trial.shown is None or trial.shown.step is None:
        return did_not_fire(trial, told(run))
    if trial.kind is TrialKind.STORE_FAILS_ONCE:
        return _once(trial, reference)
    too_often = _too_often(trial)
    if too_often is not None:
        return (too_often,)
    if run.execution.timed_out:
        return (_hangs(trial),)
    return _for_good(trial, reference)


def _once(trial: Trial, reference: Reference) -> Seen:
    run = trial.legs[0]
    if run.execution.timed_out:
        return () if _waits(trial) else (_hangs(trial),)
    if run.execution.succeeded:
        return _after_success(trial, reference)
    what = f"that once is enough: {told(run)}{_attempts(run)}"
    expected = f"another attempt, exit 0, and the check says: {quoted(reference.check.output)}"
    return (_found(trial, Symptom.NOT_RETRIED, what, (expected, told(run))),)


def _waits(trial: Trial) -> bool:
    """Whether it still waits for a store that does not answer: its time-out is longer."""
    return trial.point.variant.endswith(NO_ANSWER) and trial.legs[0].execution.timed_out


def _for_good(trial: Trial, reference: Reference) -> Seen:
    run, last = trial.legs[0], trial.legs[-1]
    if run.execution.succeeded:
        return _after_success(trial, reference)
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the job was not resumed after it had stopped"
    found: list[Finding] = []
    if not run.execution.output.strip():
        what = f"the run {ending(run.execution)} without a word"
        texts = "a word of what the store answered, on standard output or error", told(run)
        found.append(_found(trial, Symptom.SILENT_STOP, what, texts))
    if last.execution.succeeded:
        return (*found, *_end(trial, reference, after="the resume, with a store that works, "))
    symptom = Symptom.HANG if last.execution.timed_out else Symptom.RESUME_FAILED
    expected = f"the resume exits 0 and the check says: {quoted(reference.check.output)}"
    what = f"the resume, with a store that works, {ending(last.execution)}"
    return (*found, _found(trial, symptom, what, (expected, told(last))))


def _after_success(trial: Trial, reference: Reference) -> Seen:
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run after the run"
    return tuple(_end(trial, reference, after="the run "))


def _end(trial: Trial, reference: Reference, *, after: str) -> Iterator[Finding]:
    """Whether all is stored, and the check says what it should, after exit 0."""
    of_run = len(trial.legs) == 1
    requests = tuple(one for leg in trial.legs for one in leg.requests)
    wrong = wrong_objects(trial.legs[-1].objects, requests, reference, crashed=False)
    for one in wrong:
        symptom = Symptom.ERROR_AS_SUCCESS if of_run else one.symptom
        what = f"{after}exits 0, and {one.words}"
        yield _found(trial, symptom, what, (one.expected, one.seen))
    differs = None
    if trial.check is not None and not wrong:
        differs = wrong_check(trial.check, reference.check)
    if differs is not None:
        symptom, words, expected, seen = differs
        symptom = Symptom.ERROR_AS_SUCCESS if of_run and not symptom.is_hang else symptom
        yield _found(trial, symptom, f"{after}exits 0 with {words}", (expected, seen))


def _too_often(trial: Trial) -> Finding | None:
    """Attempts at one request in the run: too many, or with no pause between them."""
    run = trial.legs[0]
    attempts = _most_attempts(run)
    count = len(attempts)
    if not count:
        return None
    what = attempts[0].path
    seen = f"{counted(count, 'attempt')} within {attempts[-1].at_s - attempts[0].at_s:.1f} s"
    if trial.kind is TrialKind.STORE_REFUSES:
        if count <= REFUSED:
            return None
        texts = "no further attempt, a word, and an exit code other than 0", f"{seen}; {told(run)}"
        words = f"{what} is tried {count} times, although it is refused"
        return _found(trial, Symptom.REFUSAL_RETRIED, words, texts)
    if count > ENDLESS:
        texts = f"no more than {ENDLESS} attempts, and an end", f"{seen}; {told(run)}"
        words = f"{what} is tried again and again, {count} times"
        return _found(trial, Symptom.ENDLESS_RETRY, words, texts)
    pause_s = (attempts[-1].at_s - attempts[0].at_s) / max(1, count - 1)
    if count >= _MANY and pause_s < _PAUSE_S:
        texts = "a pause between attempts that grows", f"{seen}, {pause_s * 1000:.0f} ms apart"
        words = f"{what} is tried {count} times with hardly a pause"
        return _found(trial, Symptom.NO_PAUSE, words, texts)
    return None


def _most_attempts(run: Leg) -> list[StoreRequest]:
    """The requests of the fault that asked for one and the same, most often."""
    by_path: dict[str, list[StoreRequest]] = {}
    for one in run.requests:
        if one.fault:
            by_path.setdefault(one.path, []).append(one)
    return max(by_path.values(), key=len, default=[])


def _attempts(run: Leg) -> str:
    """`` after 3 attempts``: of those that were answered well, none is the fault's."""
    hit = next((one for one in run.requests if one.fault), None)
    if hit is None:
        return ""
    same = sum(one.path == hit.path for one in run.requests)
    return f", after {counted(same, 'attempt')}"


def _hangs(trial: Trial) -> Finding:
    run = trial.legs[0]
    texts = "the run ends by its deadline, well or with a word of why", told(run)
    return _found(trial, Symptom.HANG, f"the run {ending(run.execution)}", texts)


def _found(trial: Trial, symptom: Symptom, what: str, texts: tuple[str, str]) -> Finding:
    expected, seen = texts
    return finding(
        UPLOAD_FAULTS_ARE_SURVIVED,
        trial,
        symptom,
        what,
        expected=expected,
        seen=seen,
        cause=_CAUSES.get(symptom, _TRIPS),
    )


def _notes(evidence: Evidence) -> tuple[str, ...]:
    once = (one for one in evidence.trials if one.kind is TrialKind.STORE_FAILS_ONCE)
    waiting = sum(_waits(one) for one in once)
    if not waiting:
        return ()
    note = (
        "where the store did not answer the job still waited when its deadline was over "
        "(--checkpoint-deadline), so whether it would try again is not known: give it a read "
        "time-out"
    )
    return (note,)


upload_faults_are_survived: Final = TrialContract(
    id=UPLOAD_FAULTS_ARE_SURVIVED,
    promise="what the store fails at is tried again, with pauses and an end; a refusal is not",
    explanation="""\
Object stores answer 503 SlowDown and 500 as a matter of course, connections break, and answers do
not come. A job of hours must not end for one of them, and must not go on for ever either. At the
first, the middle and the last upload of the undisturbed run (at all, if all are wanted) the kit's
proxy fails once: 503, 500, a connection that is reset before the request is read, within its body,
or after the object was stored; and at one of them it never answers. The run must exit 0 with every
object held as it was sent, and the check say what it says undisturbed. Where it does not answer,
and the job still waits at its deadline, nothing is concluded and a note says so. Then an upload
fails with 503, and another time with 500, as often as it is tried: the run must end by itself, by
its deadline, within 100 attempts at one upload, and not ten of them with hardly a pause (20 ms on
average) between them; it must say something, and the resume, with a store that works, must end with
every object and the result of the undisturbed run. Last, an upload is refused as often as it is
tried, with 403 and with 404 NoSuchBucket: no request may be made more than twice, and the rest is
as above. Where the fault did not fire nothing is concluded: inconclusive.

It is broken by a client without retries, by one that retries for ever or without a pause, by one
that retries a refusal, by a failed upload that is only logged, and by a marker that is written for
an upload that failed.

Keep it: time-outs for connecting and reading, a bounded number of attempts with growing pauses (in
boto3: retries={"mode": "standard", "max_attempts": 5}), 412 after a lost reply taken as "look and
compare", and a sentence with the key and the last answer when the attempts are used up.""",
    kinds=(TrialKind.STORE_FAILS_ONCE, TrialKind.STORE_FAILS, TrialKind.STORE_REFUSES),
    needs=frozenset({S3}),
    look=_look,
    may_lack=frozenset(
        {TrialKind.STORE_FAILS_ONCE, TrialKind.STORE_FAILS, TrialKind.STORE_REFUSES}
    ),
    without="the undisturbed run uploads nothing that could be made to fail",
    notes_of_all=_notes,
)
