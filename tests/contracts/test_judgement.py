"""The verdict rules in their order, and what each says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import CATALOGUE, Contract, judge, judge_all
from checkpoint_contracts.evidence import Coverage, Evidence, Fault
from checkpoint_contracts.keeps_work import resume_keeps_work
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.verdict import Outcome
from tests.contracts.builders import (
    HUNG,
    SOUND,
    checked,
    killed,
    ran,
    seen,
    torn,
    tried,
    undisturbed,
)

EQUALS = resume_equals_uninterrupted
CORRUPT = state_never_corrupt
WRONG = tried(killed(5), check=checked("41\n"))
FAILING = seen(*SOUND, WRONG, replays=(WRONG,))


def outcome(evidence: Evidence, contract: Contract = EQUALS) -> tuple[Outcome, str]:
    verdict = judge(evidence, contract)
    return verdict.outcome, verdict.reason


def test_a_sound_subject_passes_every_contract() -> None:
    verdicts = judge_all(seen(*SOUND, outputs=("report.json",)))
    assert list(verdicts) == list(CATALOGUE)
    others = {one.id for one in CATALOGUE.values() if one.needs - {"stages", "outputs"}}
    told = {(one.outcome, one.reason) for name, one in verdicts.items() if name not in others}
    assert told == {(Outcome.PASSED, "")}
    assert {verdicts[name].outcome for name in others} == {Outcome.NOT_APPLICABLE}


def test_the_same_evidence_gives_the_same_verdict() -> None:
    assert judge_all(FAILING) == judge_all(FAILING)


def test_states_are_summed_over_the_faults_of_the_contract() -> None:
    assert (
        judge(seen(*SOUND), EQUALS).states_explored,
        judge(seen(*SOUND), EQUALS).states_total,
    ) == (4, 4)
    verdict = judge(seen(*SOUND), CORRUPT)
    assert (verdict.states_explored, verdict.states_total) == (5, 5)


# --- 1 to 4: decided before any experiment -----------------------------------------------------


def test_1_the_subjects_own_reason_goes_before_all() -> None:
    evidence = replace(FAILING, not_applicable={EQUALS.id: "it never resumes"}, invalid="broken")
    assert outcome(evidence) == (Outcome.NOT_APPLICABLE, "it never resumes")
    assert outcome(evidence, CORRUPT) == (Outcome.INCONCLUSIVE, "broken")


def test_2_invalid_evidence_is_inconclusive_whatever_was_seen() -> None:
    assert outcome(replace(FAILING, invalid="two runs differ")) == (
        Outcome.INCONCLUSIVE,
        "two runs differ",
    )
    assert outcome(replace(FAILING, invalid="two runs differ", faults=frozenset())) == (
        Outcome.INCONCLUSIVE,
        "two runs differ",
    )


def test_2_without_an_undisturbed_run_nothing_passes() -> None:
    assert outcome(replace(FAILING, reference=None))[0] is Outcome.INCONCLUSIVE
    assert outcome(seen(*SOUND, reference=undisturbed(check=checked(exit_code=1)))) == (
        Outcome.INCONCLUSIVE,
        "undisturbed, the check exits 1",
    )
    refused = undisturbed(run=ran(refusal="connect to 10.0.0.1 was refused"))
    assert outcome(seen(*SOUND, reference=refused)) == (
        Outcome.INCONCLUSIVE,
        "undisturbed, the run says nothing: connect to 10.0.0.1 was refused",
    )


def test_3_a_fault_that_was_not_asked_for_is_not_applicable() -> None:
    evidence = seen(tried(torn(3)), faults=frozenset({Fault.TORN}))
    assert outcome(evidence) == (
        Outcome.NOT_APPLICABLE,
        "it needs the fault kill, which was not asked for",
    )
    assert outcome(replace(evidence, faults=frozenset()), CORRUPT) == (
        Outcome.NOT_APPLICABLE,
        "it needs the fault kill or torn, which was not asked for",
    )


def test_3_a_contract_is_judged_on_those_of_its_faults_that_were_asked_for() -> None:
    evidence = seen(tried(torn(3)), faults=frozenset({Fault.TORN}))
    verdict = judge(evidence, CORRUPT)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == ("the fault kill was not asked for",)
    assert (verdict.states_explored, verdict.states_total) == (1, 1)


def test_3_without_stages_there_is_nothing_to_skip() -> None:
    evidence = seen(*SOUND, reference=undisturbed(events=("start a", "done b")))
    reason = (
        "no stages were seen: the undisturbed run wrote no name with both a start and a done "
        "line to $CHECKPOINT_EVENTS"
    )
    assert outcome(evidence, resume_skips_done) == (Outcome.NOT_APPLICABLE, reason)


def test_3_a_capability_that_is_needed_and_not_declared() -> None:
    contract = replace(EQUALS, needs=frozenset({"heartbeat"}))
    assert outcome(FAILING, contract) == (
        Outcome.NOT_APPLICABLE,
        "the subject does not declare the capability heartbeat",
    )
    both = replace(EQUALS, needs=frozenset({"heartbeat", "s3"}))
    assert (
        outcome(FAILING, both)[1] == "the subject does not declare the capabilities heartbeat, s3"
    )
    declared = replace(FAILING, capabilities=frozenset({"heartbeat"}))
    assert outcome(declared, contract)[0] is Outcome.FAILED


def test_4_states_that_cannot_be_trusted_are_inconclusive_and_accuse_nobody() -> None:
    evidence = replace(FAILING, unobservable={Fault.KILL: "db-shm is mapped and unreadable"})
    assert outcome(evidence) == (Outcome.INCONCLUSIVE, "db-shm is mapped and unreadable")


def test_4_goes_before_a_failure_that_needs_no_state() -> None:
    """The finished job that starts over is seen in the undisturbed runs."""
    reference = undisturbed(finished_resume=undisturbed().run)
    evidence = seen(*SOUND, reference=reference)
    assert outcome(evidence, resume_keeps_work)[0] is Outcome.FAILED
    untrusted = replace(evidence, unobservable={Fault.KILL: "mapped"})
    assert outcome(untrusted, resume_keeps_work) == (Outcome.INCONCLUSIVE, "mapped")


def test_4_a_failure_at_a_state_that_cannot_be_trusted_accuses_nobody() -> None:
    failed = tried(killed(5), ran(1))
    evidence = seen(*SOUND, failed, replays=(failed,), unobservable={Fault.KILL: "mapped"})
    assert outcome(evidence, CORRUPT) == (Outcome.INCONCLUSIVE, "mapped")


def test_4_a_failure_of_the_other_fault_still_counts() -> None:
    tear = tried(torn(5), ran(1))
    evidence = seen(*SOUND, tear, replays=(tear,), unobservable={Fault.KILL: "mapped"})
    assert judge(evidence, CORRUPT).outcome is Outcome.FAILED
    assert "mapped" in judge(evidence, CORRUPT).notes
    sound = seen(*SOUND, unobservable={Fault.KILL: "mapped"})
    assert outcome(sound, CORRUPT) == (Outcome.INCONCLUSIVE, "mapped")


# --- 5: failed ----------------------------------------------------------------------------------


def test_5_one_confirmed_failure_fails_whatever_else_was_not_explored() -> None:
    spoiled = tried(killed(7), ran(refusal="connect to 10.0.0.1 was refused"))
    coverage = {
        fault: Coverage(derived=9, unique=9, explored=3, unreached=("write x",)) for fault in Fault
    }
    evidence = seen(*SOUND, WRONG, spoiled, replays=(WRONG,), coverage=coverage)
    verdict = judge(evidence, EQUALS)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.faults_failed == ("kill",)
    assert verdict.reason == verdict.failures[0].finding.headline
    assert "connect to 10.0.0.1 was refused" in verdict.notes
    assert any("not covered is write x;" in note for note in verdict.notes)


def test_5_states_behind_a_known_hang_count_with_it() -> None:
    hang = tried(killed(5), HUNG)
    behind = (killed(8), killed(9), killed(11, "rename s"))
    coverage = {
        Fault.KILL: Coverage(derived=9, unique=9, explored=6, known_hangs=behind),
        Fault.TORN: Coverage(derived=1, unique=1, explored=1),
    }
    evidence = seen(*SOUND, hang, replays=(hang,), coverage=coverage)
    (failure,) = judge(evidence, EQUALS).failures
    assert failure.count == 3
    assert failure.notes == ("2 of them were not tried (known hang)",)


# --- 6: inconclusive ----------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["refusal", "problem"])
def test_6_an_experiment_that_could_not_be_seen_through(field: str) -> None:
    sentence: dict[str, Any] = {field: "a sentence"}
    spoiled = tried(killed(7), ran(**sentence))
    evidence = seen(*SOUND, spoiled)
    assert outcome(evidence) == (Outcome.INCONCLUSIVE, "a sentence")
    verdicts = judge_all(evidence)
    of_kills = {
        one.id
        for one in CATALOGUE.values()
        if one.explores and Fault.KILL in one.faults and one.needs <= {"stages"}
    }
    assert of_kills == {
        name for name, verdict in verdicts.items() if verdict.outcome is Outcome.INCONCLUSIVE
    }


def test_6_of_a_fault_that_the_contract_does_not_look_at_it_does_not_matter() -> None:
    spoiled = tried(torn(7), ran(refusal="a sentence"))
    assert outcome(seen(*SOUND, spoiled))[0] is Outcome.PASSED
    assert outcome(seen(*SOUND, spoiled), CORRUPT)[0] is Outcome.INCONCLUSIVE


def test_6_each_sentence_stands_once() -> None:
    spoiled = [tried(killed(step), ran(refusal="a sentence")) for step in (7, 8)]
    assert outcome(seen(*SOUND, *spoiled)) == (Outcome.INCONCLUSIVE, "a sentence")


def test_6_an_operation_that_was_never_reached() -> None:
    coverage = {
        Fault.KILL: Coverage(derived=9, unique=9, explored=4, unreached=("rename a", "write b")),
        Fault.TORN: Coverage(derived=1, unique=1, explored=1),
    }
    sentence = (
        "the budget ended too early: not covered is rename a (and 1 more operation); "
        "--checkpoint-time-budget and --checkpoint-max-states give it more"
    )
    assert outcome(seen(*SOUND, coverage=coverage)) == (Outcome.INCONCLUSIVE, sentence)


def test_6_a_known_hang_leaves_states_unexplored_for_the_contracts_that_it_does_not_fail() -> None:
    hang = tried(killed(5), HUNG)
    coverage = {
        Fault.KILL: Coverage(derived=9, unique=9, explored=8, known_hangs=(killed(8),)),
        Fault.TORN: Coverage(derived=1, unique=1, explored=1),
    }
    evidence = seen(*SOUND, hang, replays=(hang,), coverage=coverage)
    outcomes = {name: verdict.outcome for name, verdict in judge_all(evidence).items()}
    assert outcomes == {
        "resume-equals-uninterrupted": Outcome.FAILED,
        "state-never-corrupt": Outcome.INCONCLUSIVE,
        "resume-skips-done": Outcome.INCONCLUSIVE,
        "resume-keeps-work": Outcome.INCONCLUSIVE,
        "done-survives-power-loss": Outcome.INCONCLUSIVE,
        "no-partial-under-final-name": Outcome.NOT_APPLICABLE,
        "resume-is-idempotent": Outcome.PASSED,
        "outputs-cross-resume": Outcome.NOT_APPLICABLE,
        "failed-stage-is-retried": Outcome.NOT_APPLICABLE,
        "poison-fails-fast": Outcome.NOT_APPLICABLE,
        "re-entry-is-safe": Outcome.INCONCLUSIVE,
        "changed-pipeline-is-noticed": Outcome.NOT_APPLICABLE,
        "handoff-tells-next": Outcome.NOT_APPLICABLE,
        "no-space-is-survived": Outcome.PASSED,
        "io-error-is-not-success": Outcome.PASSED,
        "preemption-is-clean": Outcome.NOT_APPLICABLE,
        "leaves-no-litter": Outcome.NOT_APPLICABLE,
        "effects-fire-once": Outcome.NOT_APPLICABLE,
        "one-writer": Outcome.NOT_APPLICABLE,
        "owns-only-its-own": Outcome.PASSED,
        "crash-during-recovery": Outcome.INCONCLUSIVE,
        "bad-state-is-refused": Outcome.NOT_APPLICABLE,
        "stale-heartbeat-is-noticed": Outcome.NOT_APPLICABLE,
        "slow-is-not-stale": Outcome.NOT_APPLICABLE,
        "alive-is-not-progress": Outcome.NOT_APPLICABLE,
        "marker-implies-object": Outcome.NOT_APPLICABLE,
        "upload-faults-are-survived": Outcome.NOT_APPLICABLE,
        "reconcile-tells-the-truth": Outcome.NOT_APPLICABLE,
        "no-space-in-staging": Outcome.NOT_APPLICABLE,
        "backpressure-bounds-staging": Outcome.NOT_APPLICABLE,
        "markers-outlive-staging": Outcome.NOT_APPLICABLE,
        "shards-cover-once": Outcome.NOT_APPLICABLE,
    }
    assert judge(evidence, CORRUPT).reason == (
        "not explored: 1 state (known hang at write state.json); "
        "--checkpoint-deadline gives a resume more time"
    )


def test_6_no_experiment_of_a_fault_never_passes() -> None:
    assert outcome(seen()) == (Outcome.INCONCLUSIVE, "no state of the fault kill was explored")
    assert outcome(seen(tried(killed(1)), coverage={}))[0] is Outcome.INCONCLUSIVE
    unexplored = {
        Fault.KILL: Coverage(derived=1, unique=1, explored=1),
        Fault.TORN: Coverage(derived=3, unique=2, explored=0),
    }
    assert outcome(seen(tried(killed(1)), coverage=unexplored), CORRUPT) == (
        Outcome.INCONCLUSIVE,
        "no state of the fault torn was explored",
    )
    assert outcome(seen(tried(torn(1))), CORRUPT) == (
        Outcome.INCONCLUSIVE,
        "no state of the fault kill was explored",
    )


def test_6_a_subject_without_a_write_that_can_be_torn_is_judged_by_its_kills() -> None:
    verdict = judge(seen(tried(killed(1))), CORRUPT)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == ("the fault torn has no states of its own here: no write can be cut",)
    only_torn = seen(faults=frozenset({Fault.TORN}))
    assert outcome(only_torn, CORRUPT)[0] is Outcome.INCONCLUSIVE


def test_6_how_much_was_explored_must_be_known() -> None:
    evidence = seen(*SOUND, coverage={Fault.KILL: Coverage(derived=4, unique=4, explored=4)})
    assert outcome(evidence)[0] is Outcome.PASSED
    assert outcome(evidence, CORRUPT) == (
        Outcome.INCONCLUSIVE,
        "how much of the fault torn was explored is not known",
    )


# --- 8: sampled ---------------------------------------------------------------------------------


def test_8_a_budget_that_ended_with_everything_covered_passes_as_sampled() -> None:
    coverage = {
        Fault.KILL: Coverage(derived=9, unique=9, explored=4),
        Fault.TORN: Coverage(derived=99, unique=50, explored=1),
    }
    evidence = seen(*SOUND, coverage=coverage)
    assert outcome(evidence) == (Outcome.PASSED, "sampled 4/9")
    assert outcome(evidence, CORRUPT) == (Outcome.PASSED, "sampled 5/59")
