"""marker-implies-object: what a store lied about, a signal cut, a crash came between."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checkpoint_contracts import judge
from checkpoint_contracts.bucket import Bucket, StoredObject, StoreRequest
from checkpoint_contracts.evidence import (
    Coverage,
    Evidence,
    Execution,
    Fault,
    MarkerAhead,
    Trial,
    TrialKind,
)
from checkpoint_contracts.marker_implies import marker_implies_object
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import HUNG, checked, explored, killed, ran, seen, tried
from tests.contracts.fault_builders import LOUD, OTHER, point
from tests.contracts.store_builders import BOTH, BUCKET, A, B, held, put, stored

LIES, SIGNALLED = TrialKind.STORE_LIES, TrialKind.STORE_SIGNALLED
HALF = held("out/a", b"as it is")
SENT = (put("out/a"), put("out/b"))


def leg(
    execution: Execution,
    *objects: StoredObject,
    command: Command = Command.RUN,
    requests: tuple[StoreRequest, ...] = SENT,
    markers: tuple[str, ...] = BOTH,
) -> Leg:
    return Leg(
        command=command, execution=execution, objects=objects, requests=requests, markers=markers
    )


def resume(execution: Execution, *objects: StoredObject, **fields: Any) -> Leg:
    return leg(execution, *objects, command=Command.RESUME, **fields)


def trial(kind: TrialKind, *legs: Leg, **fields: Any) -> Trial:
    variant = f"{kind}-{'sigint' if kind is SIGNALLED else 'silent-success'}"
    check = checked() if legs[-1].execution.succeeded else None
    values: dict[str, Any] = {"check": check, "shown": Shown(step=7), **fields}
    return Trial(point=point(kind, variant), kind=kind, legs=legs, **values)


SOUND = trial(LIES, leg(ran(), A, B))
STOPPED = trial(SIGNALLED, leg(ran(None, signal=2), markers=()), resume(ran(), A, B))


def evidence(*trials: Trial, **fields: Any) -> Evidence:
    """With a sound resume after a kill; each trial was made again, with the same end."""
    experiments = fields.pop("experiments", (tried(killed(7), objects=(A, B)),))
    coverage = {}
    for kind in marker_implies_object.kinds:
        count = sum(one.kind is kind for one in trials)
        coverage[kind] = Coverage(derived=count, unique=count, explored=count)
    values: dict[str, Any] = {
        "capabilities": marker_implies_object.needs,
        "reference": stored(),
        "replays": experiments,
        "trials": trials,
        "trial_replays": trials,
        "trial_coverage": coverage,
        "faults": frozenset({Fault.KILL, Fault.STORE_LIES, Fault.SIGNAL}),
        "coverage": {fault: explored(experiments, fault) for fault in Fault},
    }
    return seen(*experiments, **{**values, **fields})


def judged(*trials: Trial, **fields: Any) -> Verdict:
    return judge(evidence(*trials, **fields), marker_implies_object)


def broken(*trials: Trial, **fields: Any) -> list[tuple[Symptom, str]]:
    verdict = judged(*trials, **fields)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline.split("): ", 1)[1]) for one in found]


def test_kept() -> None:
    verdict = judged(SOUND, STOPPED)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert "2 markers looked at at every kill" in verdict.notes


def test_exit_0_without_the_object() -> None:
    assert broken(trial(LIES, leg(ran(), B))) == [
        (Symptom.OBJECT_LOST, "the run exits 0, and out/a is not in the bucket")
    ]


def test_exit_0_with_other_bytes() -> None:
    assert broken(trial(LIES, leg(ran(), HALF, B))) == [
        (Symptom.OBJECT_SPOILT, "the run exits 0, and out/a holds 8 of the 20 bytes that were sent")
    ]


def test_a_run_that_notices_and_is_put_right() -> None:
    noticed = trial(LIES, leg(LOUD, B, markers=("done/b",)), resume(ran(), A, B))
    assert judged(noticed).outcome is Outcome.PASSED


@pytest.mark.parametrize("end", [LOUD, ran()])
def test_a_marker_for_what_is_not_held_however_the_run_ends(end: Execution) -> None:
    """Exit 0 with work left is resumed too."""
    assert broken(trial(LIES, leg(end, B), resume(ran(), A, B))) == [
        (Symptom.OBJECT_LOST, "done/a stands, and out/a is not in the bucket")
    ]


def test_a_run_that_notices_and_a_resume_that_does_not() -> None:
    seen = broken(trial(LIES, leg(LOUD, B, markers=()), resume(ran(), B, requests=())))
    assert seen == [(Symptom.OBJECT_LOST, "the resume exits 0, and out/a is not in the bucket")]


def test_a_resume_that_what_is_left_is_in_the_way_of() -> None:
    seen = broken(trial(LIES, leg(LOUD, HALF, markers=()), resume(LOUD, HALF)))
    assert [symptom for symptom, _ in seen] == [Symptom.RESUME_FAILED]


def test_all_is_held_and_the_result_is_another() -> None:
    seen = broken(trial(LIES, leg(ran(), A, B), check=OTHER))
    assert seen == [(Symptom.DIFFERENT_RESULT, "the run exits 0 with another result")]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (trial(LIES, leg(ran(), A, B), shown=Shown()), "the fault did not fire: "),
        (trial(LIES, leg(HUNG)), "the fault at step 7 (write state.json): the run had not ended"),
        (trial(LIES, leg(LOUD)), "the fault at step 7 (write state.json): the job was not resumed"),
    ],
)
def test_nothing_is_concluded(made: Trial, reason: str) -> None:
    verdict = judged(made)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(reason)


def test_a_signal_that_came_too_late_shows_nothing() -> None:
    late = trial(SIGNALLED, leg(ran(), A, B), shown=Shown())
    assert judged(late).outcome is Outcome.PASSED


# --- parts ---


def cut(*markers: str, after: tuple[StoredObject, ...] = (A, B)) -> Trial:
    return trial(SIGNALLED, leg(LOUD, HALF, markers=markers), resume(ran(), *after))


def test_a_part_with_a_marker() -> None:
    ((symptom, words),) = broken(cut("done/a"))
    assert symptom is Symptom.OBJECT_PARTIAL
    assert words.endswith(
        "; out/a is in the bucket, 8 bytes of what are 20 undisturbed, and done/a stands for it"
    )


def test_a_part_that_no_marker_stands_for_is_no_lie_if_markers_are_declared() -> None:
    assert judged(cut("done/b")).outcome is Outcome.PASSED
    unmarked = stored(bucket=Bucket())
    verdict = judged(cut(), reference=unmarked)
    assert verdict.failures[0].finding.symptom is Symptom.OBJECT_PARTIAL


def test_a_part_that_the_resume_takes_for_the_whole() -> None:
    taken = trial(
        SIGNALLED,
        leg(LOUD, HALF, markers=(), requests=(put("out/a", b"as it is"),)),
        resume(ran(), HALF, B, requests=(put("out/b"),)),
    )
    assert broken(taken) == [
        (
            Symptom.OBJECT_PARTIAL,
            "the resume exits 0, and out/a is in the bucket, 8 bytes of what are 20 undisturbed",
        )
    ]


@pytest.mark.parametrize(
    "reference",
    [
        stored(A, B, other=(held("out/a", b"another"), B)),
        stored(bucket=Bucket(rewritten=frozenset({"out/a"}))),
    ],
)
def test_what_varies_or_grows_has_no_parts(reference: Any) -> None:
    assert judged(cut("done/a"), reference=reference).outcome is Outcome.PASSED


# --- crashes ---


def test_a_resume_without_the_object() -> None:
    lost = (tried(killed(7), objects=(B,)),)
    seen = broken(SOUND, experiments=lost)
    assert seen == [(Symptom.OBJECT_LOST, "resume exits 0, and out/a is not in the bucket")]


def test_a_resume_that_fails_is_another_contracts_matter() -> None:
    failed = (tried(killed(7), LOUD, objects=(B,)),)
    assert judged(SOUND, experiments=failed).outcome is Outcome.PASSED


def test_a_marker_before_its_object_is_not_replayed() -> None:
    ahead = MarkerAhead(
        point=killed(7), marker="done/a", key="out/a", held_bytes=None, final_bytes=20
    )
    part = MarkerAhead(point=killed(9), marker="done/b", key="out/b", held_bytes=3, final_bytes=20)
    verdict = judged(SOUND, markers_ahead=(ahead, part), replays=())
    assert [one.finding.symptom for one in verdict.failures] == [Symptom.MARKER_AHEAD]
    assert verdict.failures[0].count == 2
    assert verdict.reason == (
        "killed at step 7 (write state.json): the marker done/a stands, and out/a is not in the "
        "bucket"
    )
    # Of a fault that was not asked for nothing is said.
    faults = frozenset({Fault.STORE_LIES})
    assert judged(SOUND, markers_ahead=(ahead,), faults=faults).outcome is Outcome.PASSED


# --- what is not judged ---


def test_a_job_that_stores_nothing() -> None:
    none = dataclasses.replace(stored(), objects=())
    assert judged(reference=none).outcome is Outcome.NOT_APPLICABLE


def test_evidence_that_does_not_know_the_bucket() -> None:
    verdict = judged(SOUND, reference=stored(bucket=None))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("what the undisturbed run had stored is not known")


def test_notes() -> None:
    odd = Bucket(declares_markers=True, links=BUCKET.links, unlinked=("done/all",))
    other = stored(A, B, other=(held("out/a", b"another"), B), bucket=odd)
    notes = judged(SOUND, reference=other).notes
    assert any(note.endswith("of them only: done/all") for note in notes)
    assert any(note.endswith("other bytes from its own): out/a") for note in notes)
    assert "no markers are declared" in judged(SOUND, reference=stored(bucket=Bucket())).notes[0]
