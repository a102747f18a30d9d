"""The flake rule: what is replayed, in which order, and what counts."""

from __future__ import annotations

from dataclasses import replace

from checkpoint_contracts import judge, replays_needed
from checkpoint_contracts.evidence import Evidence, Experiment, Fault
from checkpoint_contracts.replay import ENOUGH_CAUSES, TRIES, Standing, hold
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.verdict import Outcome, Verdict
from tests.contracts.builders import HUNG, checked, killed, ran, seen, torn, tried

EQUALS = resume_equals_uninterrupted
WRONG = checked("41\n")


def wrong(step: int, operation: str = "rename s.tmp → s") -> Experiment:
    return tried(killed(step, operation), check=WRONG)


def with_replays(evidence: Evidence, *replays: Experiment) -> Evidence:
    return replace(evidence, replays=evidence.replays + replays)


def equals(evidence: Evidence) -> Verdict:
    return judge(evidence, EQUALS)


def test_a_sound_subject_needs_no_replay() -> None:
    assert replays_needed(seen(tried(killed(1)), tried(torn(2)))) == ()


def test_only_the_first_of_a_cause_is_replayed_and_the_rest_counted_with_it() -> None:
    evidence = seen(wrong(3), wrong(6), wrong(9))
    assert replays_needed(evidence) == (killed(3, "rename s.tmp → s"),)
    evidence = with_replays(evidence, wrong(3))
    assert replays_needed(evidence) == ()
    (failure,) = equals(evidence).failures
    assert failure.count == 3
    assert failure.finding.point.step == 3


def test_nothing_fails_before_it_was_replayed() -> None:
    verdict = equals(seen(wrong(3)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("seen once and not yet replayed: killed at step 3")


def test_what_is_not_seen_again_gives_way_to_the_next_of_its_cause() -> None:
    evidence = with_replays(
        seen(wrong(3), wrong(6), wrong(9)), tried(killed(3, "rename s.tmp → s"))
    )
    assert [point.step for point in replays_needed(evidence)] == [6]
    evidence = with_replays(evidence, wrong(6))
    assert equals(evidence).failures[0].finding.point.step == 6
    assert equals(evidence).failures[0].count == 3


def test_after_three_the_subject_is_flaky() -> None:
    evidence = seen(*(wrong(step) for step in (3, 6, 9, 12)))
    for step in (3, 6, 9):
        assert [point.step for point in replays_needed(evidence)] == [step]
        evidence = with_replays(evidence, tried(killed(step, "rename s.tmp → s")))
    assert replays_needed(evidence) == ()
    verdict = equals(evidence)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: not seen again when it was replayed: killed")


def test_a_flaky_cause_beside_a_confirmed_one_is_a_note() -> None:
    evidence = with_replays(
        seen(wrong(3, "write a"), wrong(6, "write b")),
        tried(killed(3, "write a")),
        wrong(6, "write b"),
    )
    verdict = equals(evidence)
    assert verdict.outcome is Outcome.FAILED
    assert any(note.startswith("flaky subject: ") for note in verdict.notes)


def test_another_symptom_in_the_replay_does_not_confirm() -> None:
    evidence = with_replays(seen(wrong(3)), tried(killed(3, "rename s.tmp → s"), ran(1)))
    assert equals(evidence).outcome is Outcome.INCONCLUSIVE


def test_a_check_that_fails_and_one_that_differs_are_the_same_failure() -> None:
    point = killed(3, "rename s.tmp → s")
    evidence = with_replays(seen(wrong(3)), tried(point, check=checked(exit_code=1)))
    assert equals(evidence).outcome is Outcome.FAILED
    both = seen(wrong(3), tried(killed(6, "rename s.tmp → s"), check=checked(exit_code=1)))
    assert len(hold(both, EQUALS).causes) == 1


def test_a_replay_that_could_not_be_seen_through_does_not_confirm_and_is_told() -> None:
    spoiled = tried(killed(3, "rename s.tmp → s"), ran(1, problem="a process survived"))
    verdict = equals(with_replays(seen(wrong(3)), spoiled))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "a process survived" in (verdict.reason, *verdict.notes)


def test_one_replay_serves_all_contracts() -> None:
    experiment = tried(
        killed(3), ran(1), events_before=("done fetch",), events_after=("start fetch",)
    )
    evidence = seen(experiment, tried(torn(4)))
    assert replays_needed(evidence) == (killed(3),)
    evidence = with_replays(evidence, experiment)
    assert replays_needed(evidence) == ()
    for contract in (EQUALS, state_never_corrupt, resume_skips_done):
        assert judge(evidence, contract).outcome is Outcome.FAILED


def test_the_same_operation_killed_and_torn_are_confirmed_apart() -> None:
    evidence = seen(tried(killed(3), ran(1)), tried(torn(3), ran(1)))
    assert set(replays_needed(evidence)) == {killed(3), torn(3)}
    evidence = with_replays(evidence, tried(torn(3), ran(1)), tried(killed(3)))
    verdict = judge(evidence, state_never_corrupt)
    assert verdict.faults_failed == ("torn",)
    assert verdict.failures[0].count == 1


def test_no_more_than_five_causes_are_replayed_and_the_rest_is_a_note() -> None:
    failing = [wrong(step, f"write {'abcdefgh'[step]}") for step in range(1, 8)]
    evidence = seen(*failing)
    assert [point.step for point in replays_needed(evidence)] == [1, 2, 3, 4, 5]
    evidence = with_replays(evidence, *failing[:ENOUGH_CAUSES])
    assert replays_needed(evidence) == ()
    verdict = equals(evidence)
    assert len(verdict.failures) == ENOUGH_CAUSES
    assert verdict.reason.endswith(
        ": resume exits 0 with another result than the undisturbed run (and 4 more causes)"
    )
    assert "seen and not replayed: 2 further causes (2 states)" in verdict.notes


def test_a_cause_that_was_not_seen_again_makes_room_for_another() -> None:
    failing = [wrong(step, f"write {'abcdefgh'[step]}") for step in range(1, 8)]
    evidence = with_replays(seen(*failing), *failing[:4], tried(killed(5, "write f")))
    assert [point.step for point in replays_needed(evidence)] == [6]


def test_five_causes_of_one_fault_do_not_hide_the_other_fault() -> None:
    failing = [tried(killed(step, f"write {'abcdefgh'[step]}"), ran(1)) for step in range(1, 8)]
    tear, second = tried(torn(9), ran(1)), tried(torn(10, operation="write x"), ran(1))
    evidence = seen(*failing, tear, second)
    asked = replays_needed(evidence, [state_never_corrupt])
    assert [point.id for point in asked] == [
        "1.kill",
        "2.kill",
        "3.kill",
        "4.kill",
        "5.kill",
        "9.torn-128",
    ]
    evidence = with_replays(evidence, *failing[:5])
    assert [point.id for point in replays_needed(evidence)] == ["9.torn-128"]
    evidence = with_replays(evidence, tear)
    assert replays_needed(evidence) == ()
    assert judge(evidence, state_never_corrupt).faults_failed == ("kill", "torn")


def test_hangs_are_replayed_one_at_a_time_and_one_is_enough() -> None:
    hanging = [tried(killed(step, f"write {'abc'[step]}"), HUNG) for step in range(3)]
    evidence = seen(*hanging, wrong(9))
    assert [point.step for point in replays_needed(evidence)] == [0, 9]
    evidence = with_replays(evidence, hanging[0], wrong(9))
    assert replays_needed(evidence) == ()
    verdict = equals(evidence)
    assert len(verdict.failures) == 2
    assert "seen and not replayed: 2 further causes (2 states)" in verdict.notes


def test_a_hang_that_was_only_slow_gives_way_to_the_next_up_to_three() -> None:
    steps = range(2, 2 + TRIES + 1)
    evidence = seen(*(tried(killed(step), HUNG) for step in steps))
    for step in steps[:TRIES]:
        assert [point.step for point in replays_needed(evidence)] == [step]
        evidence = with_replays(evidence, tried(killed(step), ran(wall_s=30.0)))
    assert replays_needed(evidence) == ()
    verdict = equals(evidence)
    assert verdict.outcome is Outcome.PASSED
    assert [cause.standing for cause in hold(evidence, EQUALS).causes] == [Standing.SLOW]
    assert verdict.notes[0] == "killed at step 2 (write state.json): resumes after 30.0 s"
    assert verdict.notes[-1] == "taken for slow ones too: 1 further hang at write state.json"


def test_a_slow_hang_does_not_excuse_a_real_one_of_the_same_cause() -> None:
    evidence = seen(tried(killed(2), HUNG), tried(killed(3), HUNG))
    evidence = with_replays(evidence, tried(killed(2), ran(wall_s=30.0)), tried(killed(3), HUNG))
    assert equals(evidence).outcome is Outcome.FAILED


def test_nothing_is_replayed_for_what_is_decided_without_experiments() -> None:
    evidence = seen(wrong(3), not_applicable={EQUALS.id: "it never resumes"})
    assert replays_needed(evidence) == ()
    assert replays_needed(seen(wrong(3), invalid="the control run failed")) == ()
    assert replays_needed(seen(wrong(3), unobservable={Fault.KILL: "mapped"})) == ()


def test_asking_ends_and_never_asks_twice() -> None:
    hanging = [tried(killed(step, f"write {'abcdefghij'[step % 9]}"), HUNG) for step in range(20)]
    failing = [tried(torn(step, operation=f"put {step % 7}"), ran(1)) for step in range(1, 20)]
    evidence = seen(*hanging, *failing)
    asked: list[str] = []
    while needed := replays_needed(evidence):
        asked += [point.id for point in needed]
        evidence = with_replays(evidence, *(tried(point) for point in needed))
    assert len(asked) == len(set(asked))
    assert judge(evidence, state_never_corrupt).outcome is Outcome.INCONCLUSIVE
