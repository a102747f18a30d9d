"""no-space-in-staging: what a run shows whose staging is full for a while."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.bucket import StoredObject
from checkpoint_contracts.evidence import OtherRun, Reference, Trial, TrialKind
from checkpoint_contracts.staged import Staged
from checkpoint_contracts.staging_full import no_space_in_staging
from checkpoint_contracts.trial import Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import ran, undisturbed
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

CONTRACT = no_space_in_staging
WHOLE = StoredObject(key="files/a", size_bytes=4000, digest="aa")
PARTIAL = StoredObject(key="files/a", size_bytes=1000, digest="bb")


def full(*legs: Leg, variant: str = "staging-1", **fields: Any) -> Trial:
    staged = Staged(bound_bytes=9000, refused=3, refused_at="write w/staging/a", usual=1)
    values: dict[str, Any] = {"staging": staged, "limit": 25, **fields}
    return faulted(TrialKind.STAGING_FULL, variant, *legs, **values)


SURVIVED = full(run(LOUD, *FETCH), resume(ran(), *SUM))
WAITED = full(run(ran(), *FETCH, *SUM), staging=Staged(bound_bytes=9000, room_again_s=1.5))


def stores(*objects: StoredObject, other: StoredObject | None = WHOLE) -> Reference:
    """The reference of a job that stores that, and in its first run the other."""
    first = OtherRun(events=(), objects=() if other is None else (other,))
    return undisturbed(objects=objects, other_run=first)


@pytest.mark.parametrize("trial", [SURVIVED, WAITED])
def test_survived(trial: Trial) -> None:
    verdict = judged(CONTRACT, trial)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")


def test_that_it_waited_is_told() -> None:
    (note,) = judged(CONTRACT, WAITED, SURVIVED).notes
    assert note.startswith("in 1 run with a full staging there was room again")


@pytest.mark.parametrize(
    ("trial", "symptom", "text"),
    [
        (
            full(run(ran(), *FETCH, *SUM), check=OTHER),
            Symptom.ERROR_AS_SUCCESS,
            "the run exits 0 with another result",
        ),
        (
            full(run(SILENT), resume(ran(), *FETCH, *SUM)),
            Symptom.SILENT_STOP,
            "the run exits 1 without a word",
        ),
        (full(run(LOUD), resume(LOUD)), Symptom.RESUME_FAILED, "the resume exits 1"),
        (full(run(HUNG)), Symptom.HANG, "the run had not ended after 10.0 s"),
        (
            full(run(LOUD, *FETCH), resume(ran(), *FETCH, *SUM)),
            Symptom.DONE_AGAIN,
            "the resume runs fetch again, which had been done",
        ),
    ],
)
def test_broken(trial: Trial, symptom: Symptom, text: str) -> None:
    assert broken(CONTRACT, trial) == [(symptom, text)]


@pytest.mark.parametrize(
    ("refused", "within_s", "outcome"),
    [
        (26, 0.0, Outcome.PASSED),
        (27, 0.0, Outcome.FAILED),
        (100, 2.9, Outcome.FAILED),
        (100, 3.1, Outcome.PASSED),  # it waits, and looks by trying
    ],
)
def test_tries_without_end(refused: int, within_s: float, outcome: Outcome) -> None:
    staged = Staged(
        bound_bytes=9000,
        refused=refused,
        refused_within_s=within_s,
        refused_at="write w/staging/a",
        usual=1,
    )
    trial = full(run(ran(), *FETCH, *SUM), staging=staged)
    verdict = judged(CONTRACT, trial)
    assert verdict.outcome is outcome
    found = [failure.finding.symptom for failure in verdict.failures]
    assert found == ([] if outcome is Outcome.PASSED else [Symptom.TRIES_WITHOUT_END])


@pytest.mark.parametrize(("starts", "outcome"), [(25, Outcome.PASSED), (26, Outcome.FAILED)])
def test_a_stage_that_is_started_again_and_again(starts: int, outcome: Outcome) -> None:
    trial = full(run(ran(), *FETCH[:1] * starts, *FETCH[1:], *SUM))
    assert judged(CONTRACT, trial).outcome is outcome


def test_a_partial_object_is_stored() -> None:
    trial = full(run(LOUD, *FETCH, objects=(PARTIAL,)), resume(ran(), *SUM))
    verdict = judged(CONTRACT, trial, reference=stores(WHOLE))
    (failure,) = verdict.failures
    assert failure.finding.symptom is Symptom.PARTIAL_UPLOAD
    assert failure.finding.headline.endswith("files/a stored with other bytes than undisturbed")
    assert "has 4000 bytes" in failure.finding.expected


@pytest.mark.parametrize(
    ("reference", "held"),
    [
        (stores(WHOLE), WHOLE),
        (stores(WHOLE, other=PARTIAL), PARTIAL),  # two undisturbed runs differ in it too
        (stores(WHOLE, other=None), PARTIAL),
        (stores(), PARTIAL),  # one that undisturbed is not there
    ],
)
def test_objects_that_accuse_nobody(reference: Reference, held: StoredObject) -> None:
    trial = full(run(LOUD, *FETCH, objects=(held,)), resume(ran(), *SUM))
    assert judged(CONTRACT, trial, reference=reference).outcome is Outcome.PASSED


def test_where_nothing_was_refused_nothing_is_concluded() -> None:
    trial = full(run(ran(), *FETCH, *SUM), variant="staging-2", shown=Shown())
    verdict = judged(CONTRACT, trial)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire: no run was refused anything")
    assert judged(CONTRACT, trial, SURVIVED).outcome is Outcome.PASSED


def test_a_real_file_system_that_says_otherwise() -> None:
    real = full(run(ran(), *FETCH, *SUM), variant="staging-1-real", shown=Shown(step=3, real=True))
    verdict = judged(CONTRACT, SURVIVED, real)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "what the quota shows is not to be trusted here" in verdict.reason


def test_that_none_could_be_mounted_is_told() -> None:
    counted = full(run(LOUD, *FETCH), resume(ran(), *SUM), variant="staging-1-real")
    (note,) = judged(CONTRACT, SURVIVED, counted).notes
    assert note.startswith("no file system of its own could be mounted")


def test_a_job_that_declares_no_staging_is_told_so() -> None:
    verdict = judged(CONTRACT, capabilities=frozenset())
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert evidence_of(CONTRACT, SURVIVED).capabilities == {"staging"}
