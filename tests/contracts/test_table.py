"""Every cell of "How what was seen becomes a verdict", through each contract and by itself."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import CATALOGUE
from checkpoint_contracts.evidence import CrashPoint, Execution, Experiment, Fault
from checkpoint_contracts.table import contracts_broken, ends_well, gap, symptoms
from checkpoint_contracts.verdict import Symptom
from tests.contracts.builders import (
    HUNG,
    checked,
    crashed_twice,
    killed,
    power_lost,
    ran,
    seen,
    torn,
    tried,
    undisturbed,
)

EQUALS = "resume-equals-uninterrupted"
CORRUPT = "state-never-corrupt"
SKIPS = "resume-skips-done"

POWER = "done-survives-power-loss"

RECOVERY = "crash-during-recovery"

KILL, TORN, LOST, TWICE = killed(7), torn(7), power_lost(7), crashed_twice(7)
AGAIN: dict[str, Any] = {
    "events_before": ("start fetch", "done fetch"),
    "events_after": ("start fetch",),
}

ROWS: list[tuple[Symptom, CrashPoint, Experiment, set[str]]] = [
    (Symptom.RESUME_FAILED, KILL, tried(KILL, ran(1)), {CORRUPT, EQUALS}),
    (Symptom.RESUME_FAILED, KILL, tried(KILL, ran(None, signal=11)), {CORRUPT, EQUALS}),
    (Symptom.RESUME_FAILED, TORN, tried(TORN, ran(1)), {CORRUPT}),
    (Symptom.RESUME_FAILED, TORN, tried(TORN, ran(None, signal=6)), {CORRUPT}),
    (Symptom.RESUME_FAILED, LOST, tried(LOST, ran(1)), {POWER}),
    (Symptom.RESUME_FAILED, LOST, tried(LOST, ran(None, signal=6)), {POWER}),
    (Symptom.HANG, LOST, tried(LOST, HUNG), {POWER}),
    (Symptom.CHECK_HANG, LOST, tried(LOST, check=HUNG), {POWER}),
    (Symptom.CHECK_FAILED, LOST, tried(LOST, check=checked(exit_code=1)), {POWER}),
    (Symptom.DIFFERENT_RESULT, LOST, tried(LOST, check=checked("41\n")), {POWER}),
    (Symptom.DONE_AGAIN, LOST, tried(LOST, **AGAIN), {POWER}),
    (Symptom.HANG, KILL, tried(KILL, HUNG), {EQUALS}),
    (Symptom.HANG, TORN, tried(TORN, HUNG), {CORRUPT}),
    (Symptom.CHECK_HANG, KILL, tried(KILL, check=HUNG), {EQUALS}),
    (Symptom.CHECK_HANG, TORN, tried(TORN, check=HUNG), {CORRUPT}),
    (Symptom.CHECK_FAILED, KILL, tried(KILL, check=checked(exit_code=1)), {EQUALS}),
    (Symptom.CHECK_FAILED, TORN, tried(TORN, check=checked(exit_code=1)), {CORRUPT}),
    (Symptom.CHECK_FAILED, KILL, tried(KILL, check=ran(None, signal=9)), {EQUALS}),
    (Symptom.DIFFERENT_RESULT, KILL, tried(KILL, check=checked("41\n")), {EQUALS}),
    (Symptom.DIFFERENT_RESULT, TORN, tried(TORN, check=checked("41\n")), {CORRUPT}),
    (Symptom.DONE_AGAIN, KILL, tried(KILL, **AGAIN), {SKIPS}),
    (Symptom.DONE_AGAIN, TORN, tried(TORN, **AGAIN), {SKIPS}),
    (Symptom.RESUME_FAILED, TWICE, tried(TWICE, ran(1)), {RECOVERY}),
    (Symptom.RESUME_FAILED, TWICE, tried(TWICE, ran(None, signal=6)), {RECOVERY}),
    (Symptom.HANG, TWICE, tried(TWICE, HUNG), {RECOVERY}),
    (Symptom.CHECK_HANG, TWICE, tried(TWICE, check=HUNG), {RECOVERY}),
    (Symptom.CHECK_FAILED, TWICE, tried(TWICE, check=checked(exit_code=1)), {RECOVERY}),
    (Symptom.DIFFERENT_RESULT, TWICE, tried(TWICE, check=checked("41\n")), {RECOVERY}),
    (Symptom.DONE_AGAIN, TWICE, tried(TWICE, **AGAIN), {RECOVERY}),
]

NEVER_SUM: dict[str, Any] = {"events_before": ("start fetch",), "events_after": ("done fetch",)}


@pytest.mark.parametrize(("symptom", "point", "experiment", "broken"), ROWS)
def test_each_cell(
    symptom: Symptom, point: CrashPoint, experiment: Experiment, broken: set[str]
) -> None:
    assert symptoms(experiment, undisturbed()) == (symptom,)
    assert set(contracts_broken(symptom, point.fault)) == broken
    evidence = seen(experiment)
    found = {contract.id: contract.findings(evidence) for contract in CATALOGUE.values()}
    assert {name for name, findings in found.items() if findings} == broken
    for name in broken:
        assert [(one.contract, one.point, one.symptom) for one in found[name]] == [
            (name, point, symptom)
        ]


@pytest.mark.parametrize("point", [KILL, TORN])
def test_a_stage_never_started_shows_with_a_wrong_result_and_only_then(point: CrashPoint) -> None:
    wrong = tried(point, check=checked(exit_code=1), **NEVER_SUM)
    assert symptoms(wrong, undisturbed()) == (Symptom.CHECK_FAILED, Symptom.SKIPPED)
    assert contracts_broken(Symptom.SKIPPED, point.fault) == (SKIPS,)
    (finding,) = CATALOGUE[SKIPS].findings(seen(wrong))
    assert "never ran sum" in finding.headline
    assert symptoms(tried(point, **NEVER_SUM), undisturbed()) == ()
    assert symptoms(tried(point, ran(1), **NEVER_SUM), undisturbed()) == (Symptom.RESUME_FAILED,)


def test_after_a_power_loss_a_stage_never_started_is_told_by_the_wrong_end_alone() -> None:
    wrong = tried(LOST, check=checked(exit_code=1), **NEVER_SUM)
    (finding,) = CATALOGUE[POWER].findings(seen(wrong))
    assert finding.symptom is Symptom.CHECK_FAILED
    assert CATALOGUE[SKIPS].findings(seen(wrong)) == ()


def test_a_stage_begun_before_the_crash_may_have_been_committed() -> None:
    begun: dict[str, Any] = {
        "events_before": ("start fetch", "done fetch", "start sum"),
        "events_after": (),
    }
    wrong = tried(KILL, check=checked("41\n"), **begun)
    assert symptoms(wrong, undisturbed()) == (Symptom.DIFFERENT_RESULT,)


def test_an_experiment_that_ended_well_shows_nothing() -> None:
    assert symptoms(tried(KILL), undisturbed()) == ()
    assert ends_well(tried(KILL), undisturbed())


def test_the_result_is_compared_exactly() -> None:
    experiment = tried(KILL, check=checked('{"total": 42}'))
    assert symptoms(experiment, undisturbed()) == (Symptom.DIFFERENT_RESULT,)


def test_what_the_check_says_to_standard_error_is_not_compared() -> None:
    assert symptoms(tried(KILL, check=checked(error_output="warning")), undisturbed()) == ()


def test_a_done_stage_started_again_shows_besides_a_failed_resume() -> None:
    experiment = tried(KILL, ran(1), **AGAIN)
    assert symptoms(experiment, undisturbed()) == (Symptom.RESUME_FAILED, Symptom.DONE_AGAIN)


def test_a_stage_acknowledged_by_the_resume_itself_is_not_judged() -> None:
    experiment = tried(KILL, events_after=("start fetch", "done fetch", "start fetch"))
    assert symptoms(experiment, undisturbed()) == ()


@pytest.mark.parametrize("field", ["refusal", "problem"])
def test_an_experiment_that_could_not_be_seen_through_shows_nothing(field: str) -> None:
    spoiled: Execution = ran(1, **{field: "connect to 10.0.0.1 was refused"})
    for experiment in (tried(KILL, spoiled, **AGAIN), tried(KILL, check=spoiled, **AGAIN)):
        assert gap(experiment) == "connect to 10.0.0.1 was refused"
        assert symptoms(experiment, undisturbed()) == ()
        assert not ends_well(experiment, undisturbed())


def test_a_resume_that_was_never_checked_is_a_gap() -> None:
    experiment = Experiment(point=KILL, events_before=(), resume=ran())
    assert gap(experiment) == "the check was not run after the resume from 7.kill"
    assert symptoms(experiment, undisturbed()) == ()


def test_what_other_contracts_see_is_no_cell_of_the_table() -> None:
    for symptom in (
        Symptom.STARTS_OVER,
        Symptom.LOST_AFTER_EXIT,
        Symptom.PARTIAL_OUTPUT,
        Symptom.OUTPUT_CHANGED,
        Symptom.RUNS_AGAIN,
    ):
        assert {contracts_broken(symptom, fault) for fault in Fault} == {()}
