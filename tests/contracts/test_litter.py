"""leaves-no-litter: what lies there after kills in a row."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.litter import leaves_no_litter
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import ran
from tests.contracts.fault_builders import LOUD, SUM, broken, faulted, judged, resume

CONTRACT = leaves_no_litter


def looped(*counts: int, **fields: Any) -> Trial:
    values: dict[str, Any] = {"shown": None, "leftovers": counts, **fields}
    return faulted(TrialKind.CRASH_LOOP, "crash-loop", resume(ran(), *SUM), **values)


@pytest.mark.parametrize(
    "counts", [(0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (3, 2, 3, 2, 3), (1, 2, 2, 3, 4), (1, 2, 3, 4, 4)]
)
def test_it_does_not_grow_with_each_kill(counts: tuple[int, ...]) -> None:
    verdict = judged(CONTRACT, looped(*counts))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")


def test_it_grows_with_each_kill() -> None:
    trial = looped(1, 2, 3, 4, 5, litter=("a.tmp1", "a.tmp2"))
    assert broken(CONTRACT, trial) == [
        (Symptom.LITTER_GROWS, "5 leftover names, and more with each kill")
    ]
    (failure,) = judged(CONTRACT, trial).failures
    assert failure.finding.seen == (
        "after the kills: 1, 2, 3, 4, 5\nand when it was finished after all:\na.tmp1\na.tmp2"
    )


def test_it_grows_although_the_end_removes_it() -> None:
    (failure,) = judged(CONTRACT, looped(1, 2, 3, 4, 5)).failures
    assert failure.finding.seen.endswith(", and none when it was finished after all")


def test_fewer_kills_show_nothing() -> None:
    verdict = judged(CONTRACT, looped(1, 2, 3))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.endswith("it was killed 3 times, not 5")


def test_how_the_last_resume_ends_is_no_matter_of_this() -> None:
    trial = faulted(
        TrialKind.CRASH_LOOP, "crash-loop", resume(LOUD), shown=None, leftovers=(1, 1, 1, 1, 1)
    )
    assert judged(CONTRACT, trial).outcome is Outcome.PASSED


def test_it_must_be_declared() -> None:
    verdict = judged(CONTRACT, looped(1, 2, 3, 4, 5), capabilities=frozenset())
    assert verdict.outcome is Outcome.NOT_APPLICABLE
