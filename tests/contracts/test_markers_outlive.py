"""markers-outlive-staging: what a resume shows whose staging and TMPDIR have gone."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checkpoint_contracts.bucket import StoreRequest, Verb
from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.markers_outlive import markers_outlive_staging
from checkpoint_contracts.staged import Staged
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import ran
from tests.contracts.fault_builders import (
    FETCH,
    HUNG,
    LOUD,
    OTHER,
    SUM,
    broken,
    faulted,
    judged,
    resume,
)

CONTRACT = markers_outlive_staging


def gone(leg: Leg, *, sends: str = "", **fields: Any) -> Trial:
    """Killed after the first stage; ``sends``: the key of an object that the resume sends."""
    names = {one.name for one in dataclasses.fields(Staged)}
    staged = {name: fields.pop(name) for name in tuple(fields) if name in names}
    if sends:
        leg = dataclasses.replace(leg, requests=(StoreRequest(verb=Verb.PUT, key=sends),))
    return faulted(
        TrialKind.STAGING_GONE,
        "staging-gone",
        leg,
        events_before=FETCH,
        staging=Staged(bound_bytes=9000, **staged),
        **fields,
    )


SOUND = gone(resume(ran(), *SUM), sends="files/b", marked=("files/a",))


def test_outlived() -> None:
    verdict = judged(CONTRACT, SOUND)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")


@pytest.mark.parametrize(
    ("trial", "symptom", "text"),
    [
        (
            gone(resume(ran(), *SUM), markers_in_it=("staging/done/a",)),
            Symptom.MARKER_IN_STAGING,
            "the marker staging/done/a goes with the staging",
        ),
        (gone(resume(LOUD)), Symptom.RESUME_FAILED, "the resume exits 1"),
        (gone(resume(HUNG)), Symptom.HANG, "the resume had not ended after 10.0 s"),
        (
            gone(resume(ran(), *SUM), check=OTHER),
            Symptom.DIFFERENT_RESULT,
            "the resume exits 0 with another result",
        ),
        (
            gone(resume(ran(), *FETCH, *SUM)),
            Symptom.DONE_AGAIN,
            "the resume runs fetch again, which had been done",
        ),
        (
            gone(resume(ran(), *SUM), sends="files/a", marked=("files/a",)),
            Symptom.UPLOADED_AGAIN,
            "the resume uploads files/a again",
        ),
        (
            gone(resume(ran(), *SUM), markers_removed=("done/a",)),
            Symptom.MARKERS_REMOVED,
            "after the resume there is no done/a",
        ),
    ],
)
def test_broken(trial: Trial, symptom: Symptom, text: str) -> None:
    assert broken(CONTRACT, trial) == [(symptom, text)]


@pytest.mark.parametrize(
    "trial",
    [
        gone(resume(ran(), *SUM), check=None),
        dataclasses.replace(SOUND, staging=None),
    ],
)
def test_what_was_not_looked_at_is_not_passed(trial: Trial) -> None:
    assert judged(CONTRACT, trial).outcome is Outcome.INCONCLUSIVE
