"""reconcile-tells-the-truth: what was changed behind the job's back, and what became of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checkpoint_contracts.bucket import StoredObject, StoreRequest, Tampered, Verb
from checkpoint_contracts.evidence import Execution, Reference, Trial, TrialKind
from checkpoint_contracts.reconcile_truth import reconcile_tells_the_truth
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts import fault_builders
from tests.contracts.builders import HUNG, checked, ran
from tests.contracts.fault_builders import LOUD, OTHER, point
from tests.contracts.store_builders import BOTH, BUCKET, LINKS, A, B, held, put, stored

CONTRACT = reconcile_tells_the_truth
FOREIGN = held("out/of-another", b"not ours")
LOST = Tampered(lost=("out/a",))
ORPHAN = Tampered(orphaned=LINKS[:1])
GUEST = Tampered(foreign=(FOREIGN,))
RECONCILES = dataclasses.replace(BUCKET, reconciles=True)


def leg(
    command: Command,
    execution: Execution,
    *objects: StoredObject,
    requests: tuple[StoreRequest, ...] = (),
    markers: tuple[str, ...] = BOTH,
) -> Leg:
    return Leg(
        command=command, execution=execution, objects=objects, requests=requests, markers=markers
    )


def trial(
    tampered: Tampered | None,
    *objects: StoredObject,
    reconciled: Execution | None = None,
    resumed: Execution | None = None,
    sent: tuple[StoreRequest, ...] = (),
    **fields: Any,
) -> Trial:
    """``objects``: what is held in the end; ``sent``: by the resume."""
    check, markers = fields.pop("check", checked()), fields.pop("markers", BOTH)
    legs = [leg(Command.RECONCILE, reconciled or ran(), *objects, markers=markers)]
    if legs[0].execution.succeeded:
        end = leg(Command.RESUME, resumed or ran(), *objects, requests=sent, markers=markers)
        legs.append(end)
    kind = TrialKind.RECONCILED
    return Trial(
        point=point(kind, f"{kind}-lost"),
        kind=kind,
        legs=tuple(legs),
        check=check if legs[-1].execution.succeeded else None,
        tampered=tampered,
    )


def judged(*trials: Trial, reference: Reference | None = None) -> Verdict:
    reference = reference or stored(bucket=RECONCILES)
    return fault_builders.judged(CONTRACT, *trials, reference=reference)


def broken(*trials: Trial) -> list[tuple[Symptom, str]]:
    verdict = judged(*trials)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline.split("): ", 1)[1]) for one in found]


def test_the_truth() -> None:
    verdict = judged(
        trial(LOST, A, B, sent=(put("out/a"),)),
        trial(Tampered(truncated=("out/b",)), A, B, sent=(put("out/b"),)),
        trial(ORPHAN, A, B),
        trial(GUEST, A, B, FOREIGN),
    )
    assert (verdict.outcome, verdict.reason, verdict.notes) == (Outcome.PASSED, "", ())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reconciled": LOUD}, (Symptom.RESUME_FAILED, "the reconciliation exits 1")),
        ({"reconciled": HUNG}, (Symptom.HANG, "the reconciliation had not ended after 10.0 s")),
        ({"resumed": LOUD}, (Symptom.RESUME_FAILED, "the resume exits 1")),
        ({"check": OTHER}, (Symptom.DIFFERENT_RESULT, "both exit 0 with another result")),
    ],
)
def test_it_must_end_well(fields: dict[str, Any], expected: tuple[Symptom, str]) -> None:
    assert broken(trial(LOST, A, B, sent=(put("out/a"),), **fields)) == [expected]


def test_the_markers_are_believed() -> None:
    assert broken(trial(LOST, B)) == [
        (Symptom.OBJECT_LOST, "both exit 0, and out/a is not in the bucket")
    ]
    half = held("out/a", b"as it is")
    assert broken(trial(Tampered(truncated=("out/a",)), half, B)) == [
        (Symptom.OBJECT_LOST, "both exit 0, and out/a holds 8 of the 20 bytes that were sent")
    ]


def test_what_is_whole_is_sent_again() -> None:
    assert broken(trial(LOST, A, B, sent=(put("out/a"), put("out/b")))) == [
        (Symptom.UPLOADED_AGAIN, "out/b is uploaded again, which was whole in the bucket")
    ]
    part = StoreRequest(verb=Verb.PART, key="out/a", status=200)
    assert broken(trial(ORPHAN, A, B, sent=(part,)))[0][0] is Symptom.UPLOADED_AGAIN


def test_a_marker_in_the_bucket_may_be_written_again() -> None:
    bucket = dataclasses.replace(RECONCILES, markers_in_bucket=frozenset({"done/a"}))
    reference = stored(A, B, held("done/a", b"done"), bucket=bucket)
    made = trial(ORPHAN, A, B, held("done/a", b"done"), sent=(put("done/a", b"done"),))
    assert judged(made, reference=reference).outcome is Outcome.PASSED


def test_what_is_ephemeral_may_be_sent_again() -> None:
    probe = held("_probe/right", b"a probe")
    bucket = dataclasses.replace(RECONCILES, ephemeral=frozenset({"_probe/right"}))
    reference = stored(A, B, probe, bucket=bucket)
    made = trial(ORPHAN, A, B, probe, sent=(put("_probe/right", b"a probe", status=412),))
    assert judged(made, reference=reference).outcome is Outcome.PASSED


def test_an_orphan_is_not_adopted() -> None:
    assert broken(trial(ORPHAN, A, B, markers=("done/b",))) == [
        (
            Symptom.ORPHAN_LEFT,
            "out/a is whole in the bucket, and its marker done/a is not written again",
        )
    ]


@pytest.mark.parametrize(
    ("objects", "sent", "how"),
    [
        ((A, B), (), "is gone"),
        ((A, B, held("out/of-another", b"ours now")), (), "was written over"),
        ((A, B, FOREIGN), (put("out/of-another", b"not ours"),), "was written over"),
    ],
)
def test_what_is_not_the_jobs(
    objects: tuple[StoredObject, ...], sent: tuple[StoreRequest, ...], how: str
) -> None:
    assert broken(trial(GUEST, *objects, sent=sent)) == [
        (Symptom.FOREIGN_TOUCHED, f"out/of-another, which is not the job's, {how}")
    ]


def test_without_such_a_command_it_does_not_apply() -> None:
    verdict = judged(trial(LOST, B), reference=stored())
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no command is declared that compares the markers")


def test_where_no_orphan_could_be_made() -> None:
    (note,) = judged(trial(LOST, A, B, sent=(put("out/a"),))).notes
    assert note.startswith("no orphan was made")


def test_what_had_been_changed_is_not_known() -> None:
    assert judged(trial(None, A, B)).outcome is Outcome.INCONCLUSIVE
