"""poison-fails-fast: what a stage shows that always raises, or is always killed."""

from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Execution, OtherRun, Trial, TrialKind
from checkpoint_contracts.poison import poison_fails_fast
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import ran, undisturbed
from tests.contracts.trial_builders import (
    HUNG,
    KILLED,
    LOUD,
    OTHER,
    SILENT,
    judged,
    leg,
    resumed,
    trial,
)

CONTRACT = poison_fails_fast
ALWAYS, DIES = TrialKind.RAISES_ALWAYS, TrialKind.KILLED_ALWAYS
FAILED = ("start fetch", "fail fetch")
FETCH = ("start fetch", "done fetch")
SUM = ("start sum", "done sum")
RUN, RESUME = leg(LOUD, *FAILED), resumed(LOUD, *FAILED)
SHOT, SHOT_AGAIN = (
    leg(KILLED, "start fetch", killed=True),
    resumed(KILLED, "start fetch", killed=True),
)


def symptom(one: Trial) -> tuple[Symptom, str]:
    verdict = judged(CONTRACT, one)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    (failure,) = verdict.failures
    found = failure.finding
    assert found.headline.startswith(f"{one.point.operation}: ")
    assert all((found.expected, found.seen, found.likely_cause))
    return found.symptom, found.headline.removeprefix(f"{one.point.operation}: ")


def raising(*legs: Leg, check: Execution | None = None) -> Trial:
    return trial(ALWAYS, *legs, check=check, limit=3)


def killed(*legs: Leg, check: Execution | None = None, limit: int = 3) -> Trial:
    return trial(DIES, *legs, check=check, limit=limit)


@pytest.mark.parametrize(
    "one",
    [
        raising(RUN, RESUME),
        raising(RUN, resumed(LOUD)),  # its budget is spent
        raising(leg(LOUD, *FAILED, *FAILED, *FAILED), resumed(LOUD)),
        raising(leg(ran(None, signal=6, output="terminate called"), "start fetch"), RESUME),
        killed(SHOT, resumed(LOUD)),
        killed(SHOT, SHOT_AGAIN, SHOT_AGAIN, resumed(LOUD)),
    ],
)
def test_stops_loudly_within_its_budget(one: Trial) -> None:
    assert judged(CONTRACT, one).outcome is Outcome.PASSED


def test_endless_retry_within_one_process() -> None:
    starts = ("start fetch",) * 4
    assert symptom(raising(leg(KILLED, *starts, killed=True))) == (
        Symptom.ENDLESS_RETRY,
        "the run starts it 4 times and would go on: endless retry",
    )
    assert symptom(raising(RUN, resumed(KILLED, *starts, killed=True)))[0] is (
        Symptom.ENDLESS_RETRY
    )


HOPES = ": it keeps going and hopes"


@pytest.mark.parametrize(
    "other",
    [
        ("start fetch", *SUM, "done fetch"),  # beside it, as it turns out
        ("start sum", "done sum", *FETCH),
        SUM,
        FETCH,
    ],
)
def test_what_was_later_in_one_undisturbed_run_only_is_not_later(other: tuple[str, ...]) -> None:
    """In a pool of workers it is chance whether sum starts before fetch is done."""
    one = raising(leg(LOUD, "start fetch", "start sum", "fail fetch"), resumed(LOUD, *FAILED))
    by_chance = undisturbed(other_run=OtherRun(events=other))
    assert judged(CONTRACT, one, reference=by_chance).outcome is Outcome.PASSED
    both = undisturbed(other_run=OtherRun(events=(*FETCH, *SUM)))
    assert judged(CONTRACT, one, reference=both).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (raising(leg(ran(), *FAILED), check=OTHER), "the run exits 0" + HOPES),
        (raising(leg(ran(), *FAILED)), "the run exits 0" + HOPES),
        (raising(leg(ran(), *FAILED, "done fetch")), "it is said to be done" + HOPES),
        (raising(leg(ran(), *FAILED, *SUM)), "sum ran all the same" + HOPES),
        (raising(leg(LOUD, *FAILED, *SUM), RESUME), "sum ran all the same" + HOPES),
        (raising(leg(LOUD, *FAILED, "done fetch"), RESUME), "it is said to be done" + HOPES),
        (raising(leg(LOUD, *FETCH, "start sum"), RESUME), "sum ran all the same" + HOPES),
        (raising(leg(ran(), *FETCH), check=OTHER), "it is said to be done" + HOPES),
        (raising(RUN, resumed(ran()), check=OTHER), "the resume exits 0" + HOPES),
        (raising(RUN, resumed(ran())), "the resume exits 0" + HOPES),
        (raising(RUN, resumed(LOUD, "start sum")), "sum ran all the same" + HOPES),
        (killed(SHOT, resumed(ran()), check=OTHER), "the resume exits 0" + HOPES),
        (killed(SHOT, resumed(LOUD, *SUM)), "sum ran all the same" + HOPES),
        (killed(SHOT, resumed(LOUD, "done fetch")), "it is said to be done" + HOPES),
        (
            killed(SHOT, resumed(KILLED, "start sum", "start fetch", killed=True), resumed(LOUD)),
            "sum ran all the same" + HOPES,
        ),
    ],
)
def test_keeps_going_and_hopes(one: Trial, words: str) -> None:
    assert symptom(one) == (Symptom.KEEPS_GOING, words)


@pytest.mark.parametrize(
    ("one", "what"),
    [
        (raising(leg(SILENT, *FAILED)), "run"),
        (raising(RUN, resumed(ran(1, output=" \n"))), "resume"),
        (killed(SHOT, resumed(SILENT)), "resume"),
    ],
)
def test_stops_without_a_word(one: Trial, what: str) -> None:
    assert symptom(one) == (Symptom.SILENT_STOP, f"the {what} exits 1 without a word")


@pytest.mark.parametrize(
    "one",
    [
        raising(leg(HUNG, *FAILED)),
        raising(RUN, resumed(HUNG)),
        killed(SHOT, resumed(HUNG)),
    ],
)
def test_never_ends(one: Trial) -> None:
    assert symptom(one)[0] is Symptom.HANG


def test_crashes_do_not_count() -> None:
    assert symptom(killed(SHOT, SHOT_AGAIN, SHOT_AGAIN, SHOT_AGAIN)) == (
        Symptom.NO_BUDGET,
        "it was killed there 4 times and is started again each time: crashes do not count",
    )


@pytest.mark.parametrize(
    "one",
    [
        raising(leg(LOUD)),
        raising(leg(HUNG)),
        raising(leg(ran(), *FETCH, *SUM)),
        raising(RUN, resumed(ran(), *FETCH, *SUM)),
        killed(leg(LOUD)),
        killed(leg(LOUD, "start fetch")),
        killed(leg(ran(), *FETCH, *SUM)),
        # The stage is brought to its end without a line at which it could be killed.
        killed(SHOT, resumed(ran(), "done fetch", *SUM)),
    ],
)
def test_a_fault_that_did_not_fire_passes_nothing(one: Trial) -> None:
    verdict = judged(CONTRACT, one)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(f"the fault did not fire: {one.point.operation}: ")


@pytest.mark.parametrize("one", [raising(RUN), killed(SHOT, SHOT_AGAIN, SHOT_AGAIN)])
def test_what_was_cut_short_passes_nothing(one: Trial) -> None:
    verdict = judged(CONTRACT, one)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(f"{one.point.operation}: ")


def test_a_stage_that_runs_beside_it_is_no_later_one() -> None:
    """Both were started before either was done."""
    verdict = judged(CONTRACT, raising(leg(LOUD, "start sum", "done sum", *FAILED), RESUME))
    assert verdict.outcome is Outcome.FAILED
    beside = ("start fetch", "start sum", "done fetch", "done sum")
    evidence = judged(
        CONTRACT,
        raising(leg(LOUD, "start fetch", *SUM, "fail fetch"), RESUME),
        reference=undisturbed(events=beside),
    )
    assert evidence.outcome is Outcome.PASSED


def test_one_flaw_in_all_stages_is_one_cause() -> None:
    loud = (leg(LOUD, *FETCH, "start sum", "fail sum"), resumed(SILENT))
    verdict = judged(
        CONTRACT, raising(leg(SILENT, *FAILED)), trial(ALWAYS, *loud, stage="sum", step=9)
    )
    (failure,) = verdict.failures
    assert failure.count == 2


def test_both_kinds_are_judged_and_told_apart() -> None:
    verdict = judged(CONTRACT, raising(leg(SILENT, *FAILED)), killed(SHOT, resumed(SILENT)))
    assert verdict.faults_failed == ("stage-raises", "stage-killed")
    assert len(verdict.failures) == 2
    assert (verdict.states_explored, verdict.states_total) == (2, 2)
