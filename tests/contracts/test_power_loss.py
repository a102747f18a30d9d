"""done-survives-power-loss: the table's column, exits that acknowledge, causes and their words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import judge, replays_needed, wants_unresumed_check
from checkpoint_contracts.evidence import Coverage, CrashPoint, Evidence, Experiment, Fault
from checkpoint_contracts.keeps_work import resume_keeps_work
from checkpoint_contracts.power_loss import done_survives_power_loss
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.verdict import Finding, Outcome, Symptom
from tests.contracts.builders import (
    HUNG,
    SOUND,
    STEPS,
    checked,
    killed,
    power_lost,
    ran,
    seen,
    tried,
    undisturbed,
)

CONTRACT = done_survives_power_loss
LOST = power_lost(7)
AT_END = power_lost(STEPS)
RENAME = "rename a.tmp → a at step 4: data of a.tmp written at step 3 was never synced"
NAME = "create b at step 5: the name was never made durable"
EXIT = frozenset({"acknowledges-exit"})


def losing(point: CrashPoint, *kinds: str, **fields: Any) -> Experiment:
    """A resume that fails after a loss of these kinds."""
    return tried(point, ran(1), missing_syncs=kinds, missing_kinds=kinds, **fields)


def only(evidence: Evidence) -> Finding:
    (finding,) = CONTRACT.findings(evidence)
    return finding


@pytest.mark.parametrize(
    ("experiment", "symptom", "words"),
    [
        (tried(LOST, ran(1)), Symptom.RESUME_FAILED, "resume exits 1"),
        (tried(LOST, ran(None, signal=11)), Symptom.RESUME_FAILED, "resume dies by SIGSEGV"),
        (tried(LOST, HUNG), Symptom.HANG, "resume had not ended after 10.0 s"),
        (tried(LOST, check=HUNG), Symptom.CHECK_HANG, "the check had not ended after 10.0 s"),
        (tried(LOST, check=checked("", 1)), Symptom.CHECK_FAILED, "the check exits 1"),
        (tried(LOST, check=checked("41\n")), Symptom.DIFFERENT_RESULT, "another result"),
        (
            tried(LOST, events_before=("done fetch",), events_after=("start fetch",)),
            Symptom.DONE_AGAIN,
            "resume runs fetch again, which had been done",
        ),
    ],
)
def test_each_symptom_breaks_it_and_nothing_else(
    experiment: Experiment, symptom: Symptom, words: str
) -> None:
    evidence = seen(*SOUND, experiment, replays=(experiment,))
    verdict = judge(evidence, CONTRACT)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.faults_failed == ("power-loss",)
    (failure,) = verdict.failures
    assert failure.finding.symptom is symptom
    assert failure.finding.headline.startswith('power lost after step 7 (event "done 7"): ')
    assert words in failure.finding.headline
    for other in (
        resume_equals_uninterrupted,
        state_never_corrupt,
        resume_skips_done,
        resume_keeps_work,
    ):
        assert judge(evidence, other) == judge(replace(evidence, experiments=SOUND), other)


def test_a_failure_after_a_kill_is_none_of_its_business() -> None:
    evidence = seen(*SOUND, tried(killed(5), ran(1)), tried(LOST))
    assert judge(evidence, CONTRACT).outcome is Outcome.PASSED


def test_a_save_that_was_never_acknowledged_may_be_done_again() -> None:
    again = tried(LOST, events_before=("start fetch",), events_after=("start fetch", "done fetch"))
    assert judge(seen(*SOUND, again), CONTRACT).outcome is Outcome.PASSED


def test_before_the_first_operation_nothing_can_be_lost_but_it_is_told() -> None:
    assert only(seen(tried(power_lost(0), ran(1)))).headline.startswith(
        "power lost before the first operation: "
    )


# --- asked for, or not --------------------------------------------------------------------------


def test_it_applies_only_if_the_fault_was_asked_for() -> None:
    evidence = seen(*SOUND, faults=frozenset({Fault.KILL, Fault.TORN}))
    verdict = judge(evidence, CONTRACT)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == "it needs the fault power-loss, which was not asked for"


def test_states_that_a_kill_leaves_too_are_judged_as_kills() -> None:
    kills = tuple(one for one in SOUND if one.point.fault is Fault.KILL)
    verdict = judge(seen(*kills), CONTRACT)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == (
        "the fault power-loss has no states of its own here: what it may leave, a kill leaves too",
    )


def test_without_any_state_nothing_passes() -> None:
    for faults in (frozenset(Fault), frozenset({Fault.POWER_LOSS})):
        verdict = judge(seen(faults=faults), CONTRACT)
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert verdict.reason == "no state of the fault power-loss was explored"
    coverage = {Fault.POWER_LOSS: Coverage(derived=9, unique=3, explored=0)}
    assert judge(seen(*SOUND, coverage=coverage), CONTRACT).outcome is Outcome.INCONCLUSIVE


# --- an exit that acknowledges ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (checked("41\n"), "the check says: 41"),
        (checked("", 1, error_output="no result"), "the check exits 1 and says: no result"),
        (HUNG, "the check had not ended after 10.0 s"),
    ],
)
def test_what_an_exit_acknowledged_must_be_there_without_a_resume(check: Any, text: str) -> None:
    lost = tried(AT_END, unresumed_check=check, missing_syncs=(RENAME,))
    evidence = seen(*SOUND, lost, replays=(lost,), capabilities=EXIT)
    verdict = judge(evidence, CONTRACT)
    assert verdict.outcome is Outcome.FAILED
    finding = verdict.failures[0].finding
    assert finding.symptom is Symptom.LOST_AFTER_EXIT
    assert finding.headline == (
        f'power lost after step {STEPS} (event "done 7"): the job had exited 0, and its result is '
        "lost"
    )
    assert finding.seen.startswith(text)
    assert finding.likely_cause.startswith(f"{RENAME}. Before the exit write a temporary file")
    silent = judge(replace(evidence, capabilities=frozenset()), CONTRACT)
    assert silent.outcome is Outcome.PASSED


def test_only_states_after_the_end_count() -> None:
    early = tried(LOST, unresumed_check=checked("", 1))
    assert judge(seen(*SOUND, early, capabilities=EXIT), CONTRACT).outcome is Outcome.PASSED
    assert judge(seen(*SOUND, tried(LOST), capabilities=EXIT), CONTRACT).outcome is Outcome.PASSED


def test_a_result_that_survived_is_silent() -> None:
    kept = tried(AT_END, unresumed_check=checked())
    assert judge(seen(*SOUND, kept, capabilities=EXIT), CONTRACT).outcome is Outcome.PASSED


def test_a_state_after_the_end_that_was_not_checked_is_a_gap() -> None:
    verdict = judge(seen(*SOUND, tried(AT_END), capabilities=EXIT), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("at 1 power loss after the exit it is not known whether")
    spoiled = tried(AT_END, unresumed_check=ran(None, problem="a process survived"))
    verdict = judge(seen(*SOUND, spoiled, capabilities=EXIT), CONTRACT)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCONCLUSIVE, "a process survived")


def test_a_loss_after_exit_that_does_not_repeat_is_flaky() -> None:
    lost = tried(AT_END, unresumed_check=checked("", 1))
    again = tried(AT_END, unresumed_check=checked())
    evidence = seen(*SOUND, lost, capabilities=EXIT)
    assert replays_needed(evidence) == (AT_END,)
    verdict = judge(replace(evidence, replays=(again,)), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject")


def test_another_symptom_in_the_replay_is_no_repetition() -> None:
    failed, again = tried(LOST, ran(1)), tried(LOST, check=checked("41\n"))
    verdict = judge(seen(*SOUND, failed, replays=(again,)), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject")


def test_which_states_are_checked_before_the_resume() -> None:
    assert wants_unresumed_check(AT_END, (), EXIT)
    assert not wants_unresumed_check(AT_END, (), ())
    assert not wants_unresumed_check(AT_END)
    assert not wants_unresumed_check(LOST, (STEPS,), EXIT)
    assert not wants_unresumed_check(AT_END, (), EXIT, {"resume-keeps-work"})
    assert wants_unresumed_check(AT_END, (), EXIT, {"done-survives-power-loss"})
    assert wants_unresumed_check(killed(19))
    assert wants_unresumed_check(killed(19), (), EXIT, {"resume-keeps-work"})
    assert wants_unresumed_check(killed(3), (19,))
    assert not wants_unresumed_check(killed(19), (), EXIT, {"done-survives-power-loss"})


# --- causes -------------------------------------------------------------------------------------


def test_what_was_lost_is_told_and_the_missing_syncs_are_the_likely_cause() -> None:
    finding = only(seen(losing(LOST, RENAME, lost=("data of a.tmp (step 3) lost",))))
    assert finding.seen == "the resume exits 1\nlost with the power:\ndata of a.tmp (step 3) lost"
    assert finding.likely_cause.startswith(RENAME + ". Before the done line write a temporary file")
    assert "fsync the directory" in finding.likely_cause


def test_of_many_missing_syncs_three_are_told() -> None:
    cause = only(seen(losing(LOST, "a", "b", "c.", "d", "e"))).likely_cause
    assert cause.startswith("a. b. c. and 2 more that were not durable. Before")


def test_for_sqlite_other_means_are_named() -> None:
    cause = only(seen(losing(LOST, "unlink state.db-journal at step 9: …"))).likely_cause
    assert "synchronous=EXTRA" in cause
    assert "os.replace" not in cause


def test_the_smallest_loss_comes_first_and_stands_for_those_that_hold_it() -> None:
    both, name = losing(power_lost(8), NAME, RENAME), losing(power_lost(9), NAME)
    data = losing(power_lost(12, "unlink x"), RENAME)
    evidence = seen(*SOUND, both, name, data, replays=(name, data))
    failures = judge(evidence, CONTRACT).failures
    assert [(one.finding.point.step, one.count) for one in failures] == [(9, 2), (12, 1)]
    assert replays_needed(replace(evidence, replays=())) == (name.point, data.point)


def test_a_loss_that_fails_only_as_a_whole_is_a_cause_of_its_own() -> None:
    both = losing(power_lost(8), NAME, RENAME)
    failures = judge(seen(*SOUND, both, replays=(both,)), CONTRACT).failures
    assert [one.finding.root for one in failures] == [f"{NAME}; {RENAME}"]


def test_one_cause_at_many_operations_is_one() -> None:
    steps = [losing(power_lost(step, f"write {step}"), RENAME) for step in (5, 6, 7)]
    (failure,) = judge(seen(*SOUND, *steps, replays=(steps[0],)), CONTRACT).failures
    assert failure.count == 3


def test_without_kinds_the_operation_tells_causes_apart() -> None:
    steps = [tried(power_lost(step, f"write {step}"), ran(1)) for step in (5, 6)]
    assert len(judge(seen(*SOUND, *steps, replays=tuple(steps)), CONTRACT).failures) == 2


def test_a_loss_of_which_nothing_is_known_stands_for_no_other() -> None:
    unknown = tried(power_lost(5), ran(1))
    known = [losing(power_lost(step, f"write {step}"), RENAME) for step in (6, 7)]
    evidence = seen(*SOUND, unknown, *known, replays=(unknown, known[0]))
    assert [one.count for one in judge(evidence, CONTRACT).failures] == [1, 2]


def test_a_slow_end_keeps_what_was_lost() -> None:
    hang = tried(LOST, HUNG, missing_syncs=(RENAME,))
    late = tried(LOST, ran(1, wall_s=31.0))
    finding = judge(seen(*SOUND, hang, replays=(late,)), CONTRACT).failures[0].finding
    assert finding.likely_cause.startswith(RENAME)


def test_a_job_that_acknowledges_nothing_is_told_so() -> None:
    silent = seen(reference=undisturbed(events=("start fetch",)))
    contract = done_survives_power_loss
    assert [note for note in contract.notes(silent) if "acknowledges nothing" in note]
    assert not contract.notes(seen(reference=undisturbed()))
    declared = replace(silent, capabilities=silent.capabilities | {"acknowledges-exit"})
    assert not contract.notes(declared)
