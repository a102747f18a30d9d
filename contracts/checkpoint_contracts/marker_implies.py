"""``marker-implies-object``: what is said to be done is in the bucket, whole, with its very bytes.

What the store holds is compared by the kit itself, with what was sent
(:mod:`checkpoint_contracts.objects_held`). In this order:

1.  a marker that the recording shows to stand for one object stands at a kill, and that object is
    not in the bucket, or not whole → failed, whatever a resume would make of it
2.  after an upload that the store lied about, or lost the reply of: no such marker may stand for an
    object that is not held as it was sent, however the run ends
3.  if it exits 0 and the check says what it says undisturbed, or else after the resume: every
    object must be held, and the check say that
4.  after a signal during an upload: an object that is a part of what it should be, if a marker for
    it stands or none is declared; and rule 3 after the resume
5.  after every crash, if the resume exits 0, every object must be held
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.bucket import S3, Bucket, by_key
from checkpoint_contracts.evidence import (
    CRASHES,
    Evidence,
    Experiment,
    MarkerAhead,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.ids import MARKER_IMPLIES_OBJECT
from checkpoint_contracts.marker_causes import LOST, PUBLISHED, TOO_EARLY, TRIPS, TRUSTED
from checkpoint_contracts.mixed import MixedContract
from checkpoint_contracts.objects_held import (
    Wrong,
    not_compared,
    partial_object,
    steady_keys,
    wrong_objects,
)
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import Seen, did_not_fire, finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, ending, listed, place, quoted

_CAUSES: Final = {
    Symptom.OBJECT_PARTIAL: PUBLISHED,
    Symptom.MARKER_AHEAD: TOO_EARLY,
    Symptom.RESUME_FAILED: TRIPS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerContract(MixedContract):
    """A mixed contract that the recording judges too, for all kills."""

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        ahead = (_ahead(one) for one in evidence.markers_ahead)
        return (*ahead, *MixedContract.findings(self, evidence))

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        if finding.symptom is Symptom.MARKER_AHEAD:
            return True
        return MixedContract.repeated(self, evidence, finding)


def _ahead(one: MarkerAhead) -> Finding:
    held = "is not in the bucket"
    if one.held_bytes is not None:
        held = f"has {one.held_bytes} of its {one.final_bytes} bytes"
    return Finding(
        contract=MARKER_IMPLIES_OBJECT,
        point=one.point,
        symptom=Symptom.MARKER_AHEAD,
        headline=f"{place(one.point)}: the marker {one.marker} stands, and {one.key} {held}",
        expected=f"{one.marker} only when {one.key} is whole in the bucket",
        seen=f"{one.marker} stands; {one.key} {held}",
        likely_cause=TOO_EARLY,
        root="marker ahead of its object",
    )


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    where, run, last = trial.point.operation, trial.legs[0], trial.legs[-1]
    if trial.shown is None or trial.shown.step is None:
        too_late = trial.kind is TrialKind.STORE_SIGNALLED and run.execution.succeeded
        return () if too_late else did_not_fire(trial, told(run))
    if trial.hung:
        slow = next((leg for leg in trial.legs if leg.execution.timed_out), last)
        return f"{where}: {told(slow)}, so what it would have stored is not known"
    signalled = trial.kind is TrialKind.STORE_SIGNALLED
    found = list(_published(trial, reference) if signalled else _marked(trial, reference))
    if last.execution.succeeded:
        return (*found, *_at_the_end(trial, reference))
    if len(trial.legs) < 2:
        return f"{where}: the job was not resumed after it had stopped"
    failed = finding(
        MARKER_IMPLIES_OBJECT,
        trial,
        Symptom.RESUME_FAILED,
        f"{told(run)}, and then the resume {ending(last.execution)}",
        expected=f"the resume exits 0 and the check says: {quoted(reference.check.output)}",
        seen=told(last),
        cause=TRIPS,
    )
    return (*found, failed)


def _published(trial: Trial, reference: Reference) -> Iterator[Finding]:
    """Parts of objects that a signal has left under their final names."""
    run, bucket = trial.legs[0], reference.bucket
    if bucket is None:
        return
    have, whole = by_key(run.objects), steady_keys(reference) - bucket.rewritten
    for usual in reference.objects:
        wrong = None
        if usual.key in whole and usual.key in have:
            wrong = partial_object(have[usual.key], usual)
        stands = _standing(usual.key, run, bucket)
        if wrong is not None and (stands or not bucket.declares_markers):
            words = f", and {listed(stands)} stands for it" if stands else ""
            yield _found(trial, wrong, f"{told(run)}; {wrong.words}{words}")


def _marked(trial: Trial, reference: Reference) -> Iterator[Finding]:
    """Markers that stand after the run for objects that are not as they were sent.

    Of a run that is not resumed its end says the same.
    """
    run, bucket = trial.legs[0], reference.bucket
    if bucket is None or len(trial.legs) < 2:
        return
    for wrong in wrong_objects(run.objects, run.requests, reference, crashed=False):
        stands = _standing(wrong.key, run, bucket)
        if stands:
            yield _found(trial, wrong, f"{listed(stands)} stands, and {wrong.words}")


def _standing(key: str, leg: Leg, bucket: Bucket) -> tuple[str, ...]:
    links = bucket.links_of(key)
    return tuple(link.marker for link in links if link.marker in leg.markers)


def _at_the_end(trial: Trial, reference: Reference) -> Iterator[Finding]:
    last = trial.legs[-1]
    requests = tuple(one for leg in trial.legs for one in leg.requests)
    wrong = wrong_objects(last.objects, requests, reference, crashed=False)
    for one in wrong:
        yield _found(trial, one, f"the {last.command} exits 0, and {one.words}")
    if wrong or trial.check is None:
        return
    differs = wrong_check(trial.check, reference.check)
    if differs is not None:
        symptom, words, expected, seen = differs
        what = f"the {last.command} exits 0 with {words}"
        yield finding(
            MARKER_IMPLIES_OBJECT,
            trial,
            symptom,
            what,
            expected=expected,
            seen=seen,
            cause=TRIPS,
        )


def _found(trial: Trial, wrong: Wrong, what: str) -> Finding:
    cause = TRUSTED if trial.kind is TrialKind.STORE_LIES else LOST
    return finding(
        MARKER_IMPLIES_OBJECT,
        trial,
        wrong.symptom,
        what,
        expected=wrong.expected,
        seen=wrong.seen,
        cause=_CAUSES.get(wrong.symptom, cause),
    )


def _look_at(experiment: Experiment, reference: Reference) -> Seen:
    if not experiment.resume.succeeded:
        return ()  # a matter of the contracts of resumes; nothing is said to be done
    held, requests = experiment.objects, experiment.requests
    return tuple(
        Finding(
            contract=MARKER_IMPLIES_OBJECT,
            point=experiment.point,
            symptom=wrong.symptom,
            headline=f"{place(experiment.point)}: resume exits 0, and {wrong.words}",
            expected=wrong.expected,
            seen=wrong.seen,
            likely_cause=LOST,
        )
        for wrong in wrong_objects(held, requests, reference, crashed=True)
    )


def _nothing(reference: Reference) -> tuple[Finding, ...]:
    return ()


def _never(reference: Reference, finding: Finding) -> bool:
    return False


def _gaps(evidence: Evidence) -> tuple[str, ...]:
    reference = evidence.reference
    if reference is None or reference.bucket is not None:
        return ()
    return ("what the undisturbed run had stored is not known: examine the subject again",)


def _excused(evidence: Evidence) -> str | None:
    reference = evidence.reference
    if S3 not in evidence.capabilities or reference is None or reference.bucket is None:
        return None
    return None if reference.objects else "the undisturbed run leaves no object in the bucket"


def _notes(evidence: Evidence) -> tuple[str, ...]:
    reference = evidence.reference
    if reference is None or reference.bucket is None:
        return ()
    bucket, notes = reference.bucket, list(not_compared(reference))
    if not bucket.declares_markers:
        notes.append(
            "no markers are declared (Bucket(…, markers=GLOB)): judged is what the job makes of "
            "the bucket, and not what stands at a kill"
        )
    elif bucket.links:
        notes.append(f"{counted(len(bucket.links), 'marker')} looked at at every kill")
    if bucket.unlinked:
        notes.append(
            "which one object they stand for cannot be told, so they are judged by what the job "
            f"makes of them only: {listed(bucket.unlinked)}"
        )
    varying = {one.key for one in reference.objects} - steady_keys(reference)
    if varying:
        notes.append(
            "not the same in two undisturbed runs, so a part of it is not told from the whole "
            "(nor, where it is sent in parts, other bytes from its own): "
            + listed(tuple(sorted(varying)))
        )
    return tuple(notes)


marker_implies_object: Final = MarkerContract(
    id=MARKER_IMPLIES_OBJECT,
    promise="a done marker exists only if the object is in the bucket, whole and equal",
    explanation="""\
A store may answer 200 and keep nothing, or other bytes; a reply may be lost after the object was
stored; a job may die between the upload and the marker, or be told to end in the middle of an
upload. What a job has said to be done, by a marker, by a done line or by exit 0, must be in the
bucket all the same, with the very bytes that it sent; the kit reads them itself, and believes no
ETag. At each upload of the undisturbed run (the first, the middle and the last, unless all are
wanted) the kit's proxy answers 200 and stores nothing, stores half of the body, stores it with one
byte changed, stores it and loses the reply, stores it and tells another ETag, or stores it twice.
No marker may then stand for an object that is not held as it was sent; and when the run has exited
0 with the result of the undisturbed run, or else when the resume without the fault has, every
object of the undisturbed run must be held as it was sent, and the check say what it says
undisturbed. A run that notices, stops and is put right by the resume is in order. The same is asked
of the resume from every kill, torn write and power loss; the bucket is on another machine and loses
nothing with the power. Besides, SIGINT and SIGTERM are sent around uploads (with --checkpoint-grace
to end), and the job is resumed: an object that is shorter than undisturbed before that, under its
final name, is a part that was published; if markers are declared, only if one stands for it. Which
object a marker stands for is learnt from the undisturbed run, by the object's key or name within
the marker's content or name, or the other way round; a marker that names exactly one is looked at
at every kill: it must not stand before its object. Objects that two undisturbed runs do not store
alike are compared with what was sent, and never with one another.

It is broken by a marker that is written before the upload, by a 200 that is trusted, by a
verification that looks at the size only or at an ETag that is told and not computed, and by an
upload that is completed although an exception passes through.

Keep it: send the object with a checksum that the store computes itself, or read it back; compare;
send it again if it differs; only then write the marker, durably, on a disk or in the bucket. Abort
an upload in parts when its block ends by an exception.""",
    kinds=(TrialKind.STORE_LIES, TrialKind.STORE_SIGNALLED),
    crashes=CRASHES,
    needs=frozenset({S3}),
    look=_look,
    look_at=_look_at,
    undisturbed=_nothing,
    undisturbed_again=_never,
    may_lack=frozenset({TrialKind.STORE_LIES, TrialKind.STORE_SIGNALLED}),
    excused=_excused,
    gaps_of_all=_gaps,
    notes_of_all=_notes,
)
