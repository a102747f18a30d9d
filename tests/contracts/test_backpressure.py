"""backpressure-bounds-staging: how full the staging gets, and how a dead store ends the run."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.backpressure import backpressure_bounds_staging
from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.staged import Staged
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import EVENTS, ran
from tests.contracts.fault_builders import HUNG, LOUD, OTHER, SILENT, broken, faulted, judged, run

CONTRACT = backpressure_bounds_staging
BOUND = 9000


def trial(kind: TrialKind, end: Execution | None = None, **fields: Any) -> Trial:
    staged = Staged(
        bound_bytes=BOUND,
        peak_bytes=fields.pop("peak", 8000),
        peak_at="step 7 (write a)",
        slowed=fields.pop("slowed", 2),
    )
    events = EVENTS if end is None else EVENTS[:1]
    return faulted(kind, kind.value, run(end or ran(), *events), staging=staged, **fields)


def with_others(*given: Trial) -> list[Trial]:
    """And sound ones of the other kinds."""
    kinds = {one.kind for one in given}
    ends = {TrialKind.STORE_STALLED: LOUD}
    others = [trial(kind, ends.get(kind)) for kind in CONTRACT.kinds if kind not in kinds]
    return [*given, *others]


def test_bounded() -> None:
    verdict = judged(CONTRACT, *with_others())
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert verdict.notes == ("at most 8000 of 9000 bytes lay in the staging",)


@pytest.mark.parametrize("kind", CONTRACT.kinds)
def test_the_bound_is_passed(kind: TrialKind) -> None:
    end = LOUD if kind is TrialKind.STORE_STALLED else None
    assert judged(CONTRACT, *with_others(trial(kind, end, peak=BOUND))).outcome is Outcome.PASSED
    assert broken(CONTRACT, *with_others(trial(kind, end, peak=BOUND + 1))) == [
        (
            Symptom.BOUND_PASSED,
            "9001 bytes lie in the staging, 1 more than the job says",
        )
    ]


@pytest.mark.parametrize(
    ("kind", "end", "symptom", "text"),
    [
        (TrialKind.STORE_STALLED, HUNG, Symptom.HANG, "the run had not ended after 10.0 s"),
        (
            TrialKind.STORE_STALLED,
            ran(),
            Symptom.ERROR_AS_SUCCESS,
            "the run exits 0 although no upload was ever answered",
        ),
        (
            TrialKind.STORE_STALLED,
            SILENT,
            Symptom.SILENT_STOP,
            "the run exits 1 without a word",
        ),
        (TrialKind.STORE_SLOW, LOUD, Symptom.RESUME_FAILED, "the run exits 1"),
        (TrialKind.STORE_RECOVERS, HUNG, Symptom.HANG, "the run had not ended after 10.0 s"),
    ],
)
def test_it_ends_badly(kind: TrialKind, end: Execution, symptom: Symptom, text: str) -> None:
    assert broken(CONTRACT, *with_others(trial(kind, end))) == [(symptom, text)]


def test_a_slow_store_is_no_reason_for_another_result() -> None:
    found = broken(CONTRACT, *with_others(trial(TrialKind.STORE_SLOW, check=OTHER)))
    assert found == [(Symptom.DIFFERENT_RESULT, "the run exits 0 with another result")]


def test_a_job_that_uploads_nothing_is_not_judged() -> None:
    verdict = judged(CONTRACT, *with_others(trial(TrialKind.STORE_SLOW, slowed=0)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "no upload was kept waiting, since the job stored no object" in verdict.reason


def test_what_was_not_measured_is_not_passed() -> None:
    verdict = judged(CONTRACT, *with_others(trial(TrialKind.STORE_HEALTHY, peak=None)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
