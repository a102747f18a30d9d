"""``reconcile-tells-the-truth``: markers are held against the bucket, and mended on either side.

The finished job's bucket and markers were changed; then its reconciliation and its resume run. In
this order:

1.  either passes its deadline → failed: hang; either exits otherwise than with 0 → failed
2.  every object of the undisturbed run must be held, the lost and the cut ones among them
3.  no object that was whole may have been sent again, be its marker there or not
4.  a marker that was removed must stand again
5.  what is not the job's must be there as it was
6.  the check must say what it says undisturbed, with what is not the job's taken away
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.bucket import (
    S3,
    SENDS,
    Bucket,
    StoreRequest,
    Tampered,
    Verb,
    by_key,
    sent_keys,
)
from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import RECONCILE_TELLS_THE_TRUTH
from checkpoint_contracts.objects_held import wrong_objects
from checkpoint_contracts.tried import Seen, TrialContract, finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, listed

_CAUSES: Final = {
    Symptom.OBJECT_LOST: (
        "The markers are believed, and the bucket is not asked. List the bucket once, and take the "
        "marker of an object that is not there, or has another size, for void."
    ),
    Symptom.UPLOADED_AGAIN: (
        "What is whole is sent again, or computed again. Compare size and checksum with what the "
        "marker or the object itself records, and leave alone what agrees."
    ),
    Symptom.ORPHAN_LEFT: (
        "A whole object whose marker was lost is not adopted. Where an object's own record (its "
        "metadata, its header) agrees with its bytes, write its marker again."
    ),
    Symptom.FOREIGN_TOUCHED: (
        "What the job does not know is deleted or overwritten. Touch only keys that the job itself "
        "makes, and name the others in the report."
    ),
}
_FAILS: Final = (
    "What was changed behind the job's back stops it. A lost or cut object is work to be done "
    "again, and what is not the job's is left alone: neither is an error."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    tampered = trial.tampered
    if tampered is None:
        return f"{trial.point.operation}: what had been changed is not known"
    for leg in trial.legs:
        if not leg.execution.succeeded:
            symptom = Symptom.HANG if leg.execution.timed_out else Symptom.RESUME_FAILED
            what = f"the {leg.command} {ending(leg.execution)}"
            return (_found(trial, symptom, what, ("it exits 0", told(leg))),)
    if len(trial.legs) < 2 or trial.check is None:
        return f"{trial.point.operation}: the job was not resumed and checked after it"
    return tuple(_after(trial, tampered, reference))


def _after(trial: Trial, tampered: Tampered, reference: Reference) -> Iterator[Finding]:
    last = trial.legs[-1]
    requests = tuple(one for leg in trial.legs for one in leg.requests)
    wrong = wrong_objects(last.objects, requests, reference, crashed=True)
    for one in wrong:
        what = f"both exit 0, and {one.words}"
        yield _found(trial, Symptom.OBJECT_LOST, what, (one.expected, one.seen))
    yield from _again(trial, tampered, reference, requests)
    yield from _not_adopted(trial, tampered)
    yield from _touched(trial, tampered, requests)
    differs = None if wrong else wrong_check(trial.check, reference.check) if trial.check else None
    if differs is not None:
        symptom, words, expected, seen = differs
        yield _found(trial, symptom, f"both exit 0 with {words}", (expected, seen))


def _again(
    trial: Trial, tampered: Tampered, reference: Reference, requests: tuple[StoreRequest, ...]
) -> Iterator[Finding]:
    bucket = reference.bucket or Bucket()
    others = bucket.markers_in_bucket | bucket.ephemeral
    spoilt = {*tampered.lost, *tampered.truncated}
    whole = {one.key for one in reference.objects} - spoilt - others
    again = tuple(sorted(whole & sent_keys(requests)))
    if again:
        yield _found(
            trial,
            Symptom.UPLOADED_AGAIN,
            f"{listed(again)} is uploaded again, which was whole in the bucket",
            (
                f"nothing sent but {listed(tuple(sorted(spoilt)))}" if spoilt else "nothing sent",
                "sent: " + listed(tuple(sorted(sent_keys(requests) - others))),
            ),
        )


def _not_adopted(trial: Trial, tampered: Tampered) -> Iterator[Finding]:
    stand = trial.legs[-1].markers
    left = tuple(link for link in tampered.orphaned if link.marker not in stand)
    if left:
        names = listed(tuple(link.marker for link in left))
        keys = listed(tuple(link.key for link in left))
        yield _found(
            trial,
            Symptom.ORPHAN_LEFT,
            f"{keys} is whole in the bucket, and its marker {names} is not written again",
            (f"{names} stands again", "markers that stand: " + (listed(stand) or "none")),
        )


def _touched(
    trial: Trial, tampered: Tampered, requests: tuple[StoreRequest, ...]
) -> Iterator[Finding]:
    have = by_key(trial.legs[-1].objects)
    for one in tampered.foreign:
        now = have.get(one.key)
        written = any(
            request.key == one.key and request.verb in SENDS | {Verb.DELETE} for request in requests
        )
        if now == one and not written:
            continue
        how = "is gone" if now is None else "was written over"
        yield _found(
            trial,
            Symptom.FOREIGN_TOUCHED,
            f"{one.key}, which is not the job's, {how}",
            (f"{one.key} left alone, {one.size_bytes} bytes", f"{one.key} {how}"),
        )


def _found(trial: Trial, symptom: Symptom, what: str, texts: tuple[str, str]) -> Finding:
    expected, seen = texts
    return finding(
        RECONCILE_TELLS_THE_TRUTH,
        trial,
        symptom,
        what,
        expected=expected,
        seen=seen,
        cause=_CAUSES.get(symptom, _FAILS),
    )


def _excused(evidence: Evidence) -> str | None:
    reference = evidence.reference
    if S3 not in evidence.capabilities or reference is None or reference.bucket is None:
        return None
    if reference.bucket.reconciles:
        return None
    return (
        "no command is declared that compares the markers with the bucket: "
        "Bucket(…, reconcile=COMMAND), --checkpoint-s3-reconcile CMD"
    )


def _notes(evidence: Evidence) -> tuple[str, ...]:
    trials = [one for one in evidence.trials if one.kind is TrialKind.RECONCILED]
    if not trials or any(one.tampered and one.tampered.orphaned for one in trials):
        return ()
    note = (
        "no orphan was made: of no marker it can be told which one object it stands for "
        "(Bucket(…, markers=GLOB))"
    )
    return (note,)


reconcile_tells_the_truth: Final = TrialContract(
    id=RECONCILE_TELLS_THE_TRUTH,
    promise="lost objects are redone, whole orphans adopted, all else is left as it is",
    explanation="""\
Buckets are tidied by hand, lifecycle rules delete, uploads of another tool land beside, and a disk
with markers is lost. A job that declares how it compares its markers with the bucket must then say
what is so, and mend it without doing anything again that is there. From the state of the finished
job the kit changes nothing at first; then it deletes an object; cuts one to half; removes the
marker of a whole one (where it can be told which marker that is); adds an object that is not the
job's; and does all of these at once. Each time the declared command and then the resume run; both
must exit 0. What was lost or cut must be in the bucket again, whole; nothing that was whole may be
uploaded again, not the orphan either, whose marker must stand again; the foreign object must be as
it was; and the check, when the foreign object was taken away, must say what it says undisturbed.
Where no such command is declared the contract is not applicable.

It is broken by a reconciliation that believes its markers and asks nobody, by one that looks
whether a key is there and not how long the object is, by one that does whole orphans again, and by
one that deletes what it does not know.

Keep it: list the bucket once, hold keys, sizes and checksums against the markers, drop the markers
of what is lost or cut so that the resume does it again, write those of whole orphans, and leave
every other key alone.""",
    kinds=(TrialKind.RECONCILED,),
    needs=frozenset({S3}),
    look=_look,
    may_lack=frozenset({TrialKind.RECONCILED}),
    without="the undisturbed run leaves no object in the bucket",
    excused=_excused,
    notes_of_all=_notes,
)
