"""What all contracts that are judged by trials have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import judge, judge_all, replays_needed, trials_wanted
from checkpoint_contracts.changed_pipeline import changed_pipeline_is_noticed
from checkpoint_contracts.evidence import Coverage, Fault, TrialKind
from checkpoint_contracts.failed_stage import failed_stage_is_retried
from checkpoint_contracts.poison import poison_fails_fast
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Outcome
from tests.contracts.builders import SOUND, ran, seen, undisturbed
from tests.contracts.trial_builders import (
    LOUD,
    OTHER,
    SILENT,
    STAGE_FAULTS,
    flaky,
    leg,
    point,
    resumed,
    trial,
    tried,
)

ALL = (failed_stage_is_retried, poison_fails_fast, changed_pipeline_is_noticed)
ONCE, ALWAYS = TrialKind.RAISES_ONCE, TrialKind.RAISES_ALWAYS
FAILED, FETCH = ("start fetch", "fail fetch"), ("start fetch", "done fetch")
SKIPS = trial(ONCE, leg(ran(), *FAILED, "start sum"), check=OTHER)
SOUND_TRIAL = trial(ONCE, leg(LOUD, *FAILED), resumed(ran(), *FETCH))
OF_ANY = {TrialKind.NO_SPACE, TrialKind.IO_ERROR, TrialKind.FAILED_SYNC, TrialKind.BYSTANDER}
"""What is tried of a subject that declares nothing, too."""
RAISES = frozenset({Fault.STAGE_RAISES})


@pytest.mark.parametrize("contract", ALL)
def test_a_subject_that_declares_nothing_is_told_what_to_declare(contract: TrialContract) -> None:
    need = {True: "variants", False: "stage-faults"}[contract is changed_pipeline_is_noticed]
    verdict = judge(seen(*SOUND), contract)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == f"the subject does not declare the capability {need}"


@pytest.mark.parametrize("contract", ALL)
def test_without_stages_there_is_nothing_to_try(contract: TrialContract) -> None:
    evidence = seen(
        capabilities=frozenset({"stage-faults", "variants"}), reference=undisturbed(events=())
    )
    verdict = judge(evidence, contract)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no stages were seen: ")
    assert not trials_wanted(evidence, ALL)


@pytest.mark.parametrize("contract", ALL)
def test_it_is_not_applicable_where_its_faults_were_not_asked_for(contract: TrialContract) -> None:
    faults = frozenset({Fault.KILL, Fault.TORN, Fault.POWER_LOSS})
    verdict = judge(tried(SKIPS, faults=faults), contract)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.endswith(", which was not asked for")


@pytest.mark.parametrize(
    ("faults", "capabilities", "kinds"),
    [
        (set(Fault), STAGE_FAULTS, {ONCE, ALWAYS, TrialKind.KILLED_ALWAYS} | OF_ANY),
        (set(Fault), {"variants"}, {TrialKind.CHANGED} | OF_ANY),
        (set(Fault), {"cleans-up"}, {TrialKind.CRASH_LOOP} | OF_ANY),
        ({Fault.SIGNAL}, {"preemption"}, {TrialKind.SIGNALLED, TrialKind.GRACE_TOO_SHORT}),
        ({Fault.STAGE_RAISES}, STAGE_FAULTS, {ONCE, ALWAYS}),
        ({Fault.STAGE_KILLED}, STAGE_FAULTS, {TrialKind.KILLED_ALWAYS}),
        ({Fault.KILL}, STAGE_FAULTS | {"variants"}, set()),
    ],
)
def test_which_kinds_are_wanted(
    faults: set[Fault], capabilities: set[str], kinds: set[TrialKind]
) -> None:
    evidence = seen(faults=frozenset(faults), capabilities=frozenset(capabilities))
    assert trials_wanted(evidence) == kinds


def test_of_the_contracts_that_were_selected() -> None:
    evidence = seen(capabilities=STAGE_FAULTS)
    assert trials_wanted(evidence, [failed_stage_is_retried]) == {ONCE}
    own = {failed_stage_is_retried.id: "it has no retries"}
    assert not trials_wanted(replace(evidence, not_applicable=own), [failed_stage_is_retried])


def test_a_failure_must_show_again() -> None:
    evidence = flaky(tried(SKIPS, faults=RAISES))
    assert replays_needed(evidence, [failed_stage_is_retried]) == (SKIPS.point,)
    verdict = judge(evidence, failed_stage_is_retried)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("seen once and not yet replayed: stage fetch raises once: ")


def test_what_does_not_show_again_is_flaky() -> None:
    again = replace(SOUND_TRIAL, point=SKIPS.point)
    evidence = flaky(tried(SKIPS, faults=RAISES), again)
    assert replays_needed(evidence, [failed_stage_is_retried]) == ()
    verdict = judge(evidence, failed_stage_is_retried)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: ")


def test_a_trial_of_another_kind_is_no_replay() -> None:
    """Both stand at the same step, and only their variant tells them apart."""
    poison = trial(ALWAYS, leg(SILENT, *FAILED), limit=3)
    evidence = flaky(tried(SKIPS, faults=RAISES), poison)
    assert replays_needed(evidence, [failed_stage_is_retried]) == (SKIPS.point,)


def covers(**fields: Any) -> dict[TrialKind, Coverage]:
    return {ONCE: Coverage(**{"derived": 9, "unique": 9, "explored": 1, **fields})}


def test_what_the_budget_left_out_passes_nothing() -> None:
    left = ("stage sum raises once", "stage mean raises once")
    evidence = tried(SOUND_TRIAL, faults=RAISES, trial_coverage=covers(unreached=left))
    verdict = judge(evidence, failed_stage_is_retried)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == (
        "the budget ended too early: not tried is: stage sum raises once (and 1 more trial); "
        "--checkpoint-time-budget gives the trials more"
    )


def test_what_was_not_chosen_is_sampled() -> None:
    verdict = judge(
        tried(SOUND_TRIAL, faults=RAISES, trial_coverage=covers()), failed_stage_is_retried
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "sampled 1/9")


def test_hangs_that_are_known_pass_nothing() -> None:
    hung = (point(ONCE, "stage sum raises once"),)
    evidence = tried(SOUND_TRIAL, faults=RAISES, trial_coverage=covers(known_hangs=hung))
    verdict = judge(evidence, failed_stage_is_retried)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == (
        "not tried: 1 trial of a stage that raises once (two hung already); --checkpoint-deadline "
        "gives them more time"
    )


def test_nothing_tried_passes_nothing() -> None:
    verdict = judge(tried(faults=RAISES), failed_stage_is_retried)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "nothing was tried of a stage that raises once"
    unknown = judge(tried(SOUND_TRIAL, faults=RAISES, trial_coverage={}), failed_stage_is_retried)
    assert unknown.outcome is Outcome.INCONCLUSIVE
    assert unknown.reason == "how much was tried of a stage that raises once is not known"


def test_one_kind_that_was_not_tried_keeps_the_other_from_passing() -> None:
    """poison-fails-fast with both faults asked for, and only the raising stage tried."""
    sound = trial(ALWAYS, leg(LOUD, *FAILED), resumed(LOUD), limit=3)
    both = frozenset({Fault.STAGE_RAISES, Fault.STAGE_KILLED})
    assert judge(tried(sound, faults=RAISES), poison_fails_fast).outcome is Outcome.PASSED
    verdict = judge(tried(sound, faults=both), poison_fails_fast)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "nothing was tried of a stage that is killed at every attempt"


def test_of_a_fault_that_cannot_be_trusted_only_that_is_said() -> None:
    sound = trial(ALWAYS, leg(LOUD, *FAILED), resumed(LOUD), limit=3)
    evidence = tried(
        sound,
        faults=frozenset({Fault.STAGE_RAISES, Fault.STAGE_KILLED}),
        unobservable={Fault.STAGE_KILLED: "a sentence"},
    )
    verdict = judge(evidence, poison_fails_fast)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCONCLUSIVE, "a sentence")


def test_a_fault_that_fires_once_and_fails_beats_one_that_did_not() -> None:
    """One confirmed failure makes the contract failed, whatever else was not concluded."""
    silent = trial(ONCE, leg(ran(), *FETCH), stage="sum", step=5)
    verdict = judge(tried(SKIPS, silent, faults=RAISES), failed_stage_is_retried)
    assert verdict.outcome is Outcome.FAILED
    assert any(note.startswith("the fault did not fire: stage sum") for note in verdict.notes)


def test_trials_say_nothing_of_other_contracts() -> None:
    evidence = seen(*SOUND, capabilities=STAGE_FAULTS)
    with_trials = judge_all(
        replace(evidence, trials=(*evidence.trials, SKIPS), trial_replays=(SKIPS,))
    )
    without = judge_all(evidence)
    for name in without.keys() - {contract.id for contract in ALL}:
        assert with_trials[name] == without[name]
