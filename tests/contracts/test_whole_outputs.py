"""no-partial-under-final-name: judged from the recording, whatever was explored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import judge, replays_needed
from checkpoint_contracts.evidence import Coverage, CrashPoint, Fault, PartialOutput
from checkpoint_contracts.verdict import Outcome, Symptom
from checkpoint_contracts.whole_outputs import no_partial_under_final_name
from tests.contracts.builders import SOUND, killed, power_lost, ran, seen, torn, tried, undisturbed

CONTRACT = no_partial_under_final_name
OUTPUTS = ("out/report.json",)
WRITE = "write out/report.json (3 bytes at 0)"


def partial(point: CrashPoint, **fields: Any) -> PartialOutput:
    values: dict[str, Any] = {
        "path": "out/report.json",
        "size_bytes": 3,
        "final_size_bytes": 9,
        "why": "it was created under its final name at step 4 and is filled there",
    }
    return PartialOutput(point=point, **{**values, **fields})


KILL, TORN = partial(killed(5, WRITE)), partial(torn(5, 2, WRITE), size_bytes=2)


def test_whole_outputs_pass() -> None:
    verdict = judge(seen(*SOUND, outputs=OUTPUTS), CONTRACT)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == ("1 output looked at in every state",)


def test_without_outputs_it_does_not_apply() -> None:
    verdict = judge(seen(*SOUND), CONTRACT)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == (
        "no outputs are declared: name the files that must be whole whenever they stand under "
        "their final name (--checkpoint-outputs GLOB, outputs=[…])"
    )


def test_a_partial_output_fails_without_a_replay() -> None:
    evidence = seen(*SOUND, outputs=OUTPUTS, partial_outputs=(KILL, TORN))
    assert replays_needed(evidence) == ()
    verdict = judge(evidence, CONTRACT)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.faults_failed == ("kill", "torn")
    one, other = (failure.finding for failure in verdict.failures)
    assert one.symptom is Symptom.PARTIAL_OUTPUT
    assert one.headline == (
        f"killed at step 5 ({WRITE}): out/report.json stands under its final name and is not whole "
        "(3 of 9 bytes)"
    )
    assert other.headline.startswith(f"write cut short at step 5 ({WRITE}): ")
    assert one.seen == (
        "out/report.json, 3 of 9 bytes: it was created under its final name at step 4 and is "
        "filled there"
    )
    assert "os.replace()" in one.likely_cause


def test_one_operation_in_many_rounds_is_one_cause() -> None:
    rounds = tuple(
        partial(killed(step, f"write {step}.txt", signature="write #.txt"), path=f"{step}.txt")
        for step in (3, 6, 9)
    )
    (failure,) = judge(seen(outputs=OUTPUTS, partial_outputs=rounds), CONTRACT).failures
    assert (failure.count, failure.finding.point.step) == (3, 3)


def test_neither_a_budget_nor_an_experiment_has_a_part_in_it() -> None:
    refused = tried(killed(7), ran(refusal="connect was refused"))
    coverage = {
        Fault.KILL: Coverage(derived=9, unique=9, explored=1, unreached=("rename a",)),
        Fault.TORN: Coverage(derived=9, unique=8, explored=0, known_hangs=(torn(3),)),
    }
    verdict = judge(seen(refused, outputs=OUTPUTS, coverage=coverage), CONTRACT)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert (verdict.states_explored, verdict.states_total) == (17, 17)


@pytest.mark.parametrize(
    ("faults", "outcome"),
    [
        ({Fault.KILL}, Outcome.FAILED),
        ({Fault.KILL, Fault.POWER_LOSS}, Outcome.FAILED),
        ({Fault.TORN}, Outcome.PASSED),
        ({Fault.POWER_LOSS}, Outcome.NOT_APPLICABLE),
        (set(), Outcome.NOT_APPLICABLE),
    ],
)
def test_it_is_judged_on_those_of_its_faults_that_were_asked_for(
    faults: set[Fault], outcome: Outcome
) -> None:
    evidence = seen(*SOUND, outputs=OUTPUTS, partial_outputs=(KILL,), faults=frozenset(faults))
    assert judge(evidence, CONTRACT).outcome is outcome


def test_states_that_cannot_be_trusted_accuse_nobody() -> None:
    evidence = seen(
        *SOUND, outputs=OUTPUTS, partial_outputs=(KILL,), unobservable={Fault.KILL: "mapped"}
    )
    verdict = judge(evidence, CONTRACT)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCONCLUSIVE, "mapped")
    verdict = judge(replace(evidence, partial_outputs=(KILL, TORN)), CONTRACT)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.faults_failed == ("torn",)


def test_it_says_nothing_of_a_power_loss() -> None:
    lost = partial(power_lost(5))
    assert judge(seen(outputs=OUTPUTS, partial_outputs=(lost,)), CONTRACT).outcome is Outcome.PASSED


def test_a_run_that_did_not_end_well_is_inconclusive() -> None:
    evidence = seen(outputs=OUTPUTS, reference=undisturbed(run=ran(1)))
    assert judge(evidence, CONTRACT).outcome is Outcome.INCONCLUSIVE
