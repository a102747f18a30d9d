"""effects-fire-once: what arrived, held against what the undisturbed run sent."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checkpoint_contracts import judge
from checkpoint_contracts.effects import effects_fire_once
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Effect,
    Evidence,
    Execution,
    Experiment,
    Fault,
    OtherRun,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.finished_job import resume_is_idempotent
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import (
    EVENTS,
    STEPS,
    checked,
    explored,
    killed,
    power_lost,
    ran,
    seen,
    torn,
    tried,
    undisturbed,
)

A, B = Effect(kind="mail", id="ann"), Effect(kind="mail", id="bob")
NEW = Effect(kind="mail", id="4711")
NAMELESS = Effect(kind="publish")


def sent(*effects: Effect, other: tuple[Effect, ...] | None = None, **fields: Any) -> Reference:
    """Two undisturbed runs that sent these; ``other``: what the other one sent."""
    theirs = effects if other is None else other
    other_run = OtherRun(events=EVENTS, effects=theirs)
    return undisturbed(effects=effects, other_run=other_run, steps=STEPS, **fields)


def resumed(
    before: tuple[Effect, ...],
    after: tuple[Effect, ...],
    end: Execution | None = None,
    where: CrashPoint | None = None,
) -> Experiment:
    return tried(where or killed(7), end, effects_before=before, effects_after=after)


def lost_reply(*legs: tuple[Execution, tuple[Effect, ...]], fired: bool = True) -> Trial:
    kind = TrialKind.LOST_REPLY
    point = CrashPoint(
        fault=kind.fault,
        step=7,
        variant="lost-reply",
        operation='the reply is lost at step 7 (effect "mail ann")',
        signature='the reply is lost at effect "mail ann"',
        total_steps=STEPS,
    )
    commands = (Command.RUN, Command.RESUME)
    made = tuple(
        Leg(command=command, execution=execution, effects=effects)
        for command, (execution, effects) in zip(commands, legs, strict=False)
    )
    check = checked() if made[-1].execution.succeeded else None
    shown = Shown(step=7 if fired else None)
    return Trial(point=point, kind=kind, legs=made, check=check, shown=shown)


def two_senders(*ends: Execution, effects: tuple[Effect, ...]) -> Trial:
    kind = TrialKind.TWO_SENDERS
    point = CrashPoint(
        fault=kind.fault,
        step=0,
        variant="two-senders-1",
        operation="two starts at the same instant (the 1. time)",
        signature="two starts at the same instant",
        total_steps=STEPS,
    )
    first, second = ends
    legs = (
        Leg(command=Command.RUN, execution=first, effects=effects),
        Leg(command=Command.RESUME, execution=second),
    )
    return Trial(point=point, kind=kind, legs=legs, shown=Shown(step=0))


def evidence(
    *experiments: Experiment,
    trials: tuple[Trial, ...] = (),
    reference: Reference | None = None,
    **fields: Any,
) -> Evidence:
    """Each was made again, with the same end."""
    made = experiments or (resumed((A,), (B,)),)
    coverage = {}
    for kind in effects_fire_once.kinds:
        count = sum(one.kind is kind for one in trials)
        coverage[kind] = Coverage(derived=count, unique=count, explored=count)
    values: dict[str, Any] = {
        "capabilities": effects_fire_once.needs,
        "reference": reference or sent(A, B),
        "replays": made,
        "trials": trials,
        "trial_replays": trials,
        "trial_coverage": coverage,
        "faults": frozenset({Fault.KILL, Fault.LOST_REPLY, Fault.DOUBLE_START}),
        "coverage": {fault: explored(made, fault) for fault in Fault},
    }
    return seen(*made, **{**values, **fields})


def judged(*experiments: Experiment, **fields: Any) -> Verdict:
    return judge(evidence(*experiments, **fields), effects_fire_once)


def broken(*experiments: Experiment, **fields: Any) -> list[tuple[Symptom, str]]:
    verdict = judged(*experiments, **fields)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline) for one in found]


@pytest.mark.parametrize(
    ("before", "after"), [((), (A, B)), ((A,), (B,)), ((A, B), ()), ((), (B, A))]
)
def test_each_arrived_once(before: tuple[Effect, ...], after: tuple[Effect, ...]) -> None:
    verdict = judged(resumed(before, after))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert verdict.states_total == 1


def test_sent_again_after_a_kill() -> None:
    text = "killed at step 7 (write state.json): arrived too often: mail ann"
    assert broken(resumed((A,), (A, B))) == [(Symptom.EFFECT_TWICE, text)]


@pytest.mark.parametrize("end", [ran(1, output="boom\n"), ran(None, signal=11)])
def test_sent_again_and_then_failed(end: Execution) -> None:
    ((symptom, text),) = broken(resumed((A,), (A,), end))
    assert symptom is Symptom.EFFECT_TWICE
    assert "(the job " in text


def test_stopping_with_a_word_is_in_order() -> None:
    end = ran(3, output="mail ann may or may not have been sent; settle it\n")
    assert judged(resumed((A,), (), end)).outcome is Outcome.PASSED


def test_taken_for_sent() -> None:
    text = "killed at step 7 (write state.json): never arrived, though the job exits 0: mail ann"
    assert broken(resumed((), (B,))) == [(Symptom.EFFECT_LOST, text)]


def test_the_id_is_another_one_at_each_attempt() -> None:
    symptoms = [symptom for symptom, _ in broken(resumed((A,), (NEW,)))]
    assert symptoms == [Symptom.EFFECT_TWICE, Symptom.EFFECT_LOST]


def test_ids_that_are_new_in_each_run_are_counted() -> None:
    reference = sent(A, B, other=(NEW, Effect(kind="mail", id="4712")))
    verdict = judged(resumed((A,), (NEW,)), reference=reference)
    assert verdict.outcome is Outcome.PASSED
    assert "ids are new in each run" in verdict.notes[0]
    ((symptom, text),) = broken(resumed((A,), (NEW, B)), reference=reference)
    assert symptom is Symptom.EFFECT_TWICE
    assert text.endswith(": arrived too often: mail (3 for 2)")
    ((symptom, _),) = broken(resumed((), (NEW,)), reference=reference)
    assert symptom is Symptom.EFFECT_LOST


def test_without_an_id() -> None:
    reference = sent(A, NAMELESS)
    found = broken(resumed((A,), (NAMELESS,)), reference=reference)
    assert found[0][0] is Symptom.EFFECT_NO_ID
    assert "publish has no id" in found[0][1]
    assert len(found) == 1


def test_without_an_id_in_one_run_only_is_flaky() -> None:
    reference = sent(A, NAMELESS, other=(A, Effect(kind="publish", id="1")))
    verdict = judged(resumed((A,), (NAMELESS,)), reference=reference)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject")


def test_twice_in_the_undisturbed_run() -> None:
    found = broken(resumed((A,), (A, B)), reference=sent(A, A, B))
    assert found == [(Symptom.EFFECT_TWICE, "undisturbed: mail ann is sent more than once")]


def test_two_runs_that_send_different_numbers_say_nothing() -> None:
    verdict = judged(reference=sent(A, B, other=(A,)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "sent 1 and 2 effects of the kind 'mail'" in verdict.reason


def test_what_cannot_be_read_says_nothing() -> None:
    garbled = Effect(kind="", problem="what was sent says nothing")
    verdict = judged(resumed((A,), (garbled,)))
    assert (verdict.outcome, "says nothing" in verdict.reason) == (Outcome.INCONCLUSIVE, True)


def test_what_could_not_be_seen_through_says_nothing() -> None:
    unseen = ran(None, problem="a process of the job outlived it")
    verdict = judged(resumed((A,), (A, B), unseen))
    assert (verdict.outcome, verdict.failures) == (Outcome.INCONCLUSIVE, ())


def test_it_does_not_repeat() -> None:
    verdict = judged(resumed((A,), (A, B)), replays=(resumed((A,), (B,)),))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    verdict = judged(resumed((A,), (A, B)), replays=())
    assert "not yet replayed" in verdict.reason


@pytest.mark.parametrize("where", [torn(7), power_lost(7)])
def test_other_crashes_count_too(where: CrashPoint) -> None:
    faults = frozenset({where.fault, Fault.LOST_REPLY})
    wrong = resumed((A,), (A, B), where=where)
    assert [symptom for symptom, _ in broken(wrong, faults=faults)] == [Symptom.EFFECT_TWICE]


def test_a_lost_reply_that_is_survived() -> None:
    trials = (lost_reply((ran(), (A, B))), lost_reply((ran(1), (A,)), (ran(), (B,))))
    verdict = judged(trials=trials)
    assert (verdict.outcome, verdict.states_total) == (Outcome.PASSED, 3)


def test_a_lost_reply_and_a_stop() -> None:
    stop = ran(3, output="it may have been sent\n")
    assert judged(trials=(lost_reply((ran(1), (A,)), (stop, ())),)).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "legs", [((ran(), (A, A, B)),), ((ran(1), (A,)), (ran(), (A, B))), ((ran(1), (A, A)),)]
)
def test_sent_again_after_a_lost_reply(legs: Any) -> None:
    ((symptom, text),) = broken(trials=(lost_reply(*legs),))
    assert symptom is Symptom.EFFECT_TWICE
    lost = 'the reply is lost at step 7 (effect "mail ann"): arrived too often: mail ann'
    assert text.startswith(lost)


def test_a_lost_reply_that_did_not_fire_or_did_not_end() -> None:
    verdict = judged(trials=(lost_reply((ran(), (A, B)), fired=False),))
    assert verdict.reason.startswith("the fault did not fire")
    hung = ran(None, timed_out=True, wall_s=9.0)
    verdict = judged(trials=(lost_reply((hung, (A,))),))
    assert (verdict.outcome, "not known" in verdict.reason) == (Outcome.INCONCLUSIVE, True)


@pytest.mark.parametrize("ends", [(ran(), ran()), (ran(), ran(1)), (ran(1), ran())])
def test_two_at_once(ends: tuple[Execution, Execution]) -> None:
    assert judged(trials=(two_senders(*ends, effects=(A, B)),)).outcome is Outcome.PASSED
    ((symptom, text),) = broken(trials=(two_senders(*ends, effects=(A, A, B)),))
    lead = "two starts at the same instant (the 1. time)"
    assert (symptom, text) == (Symptom.EFFECT_TWICE, f"{lead}: arrived too often: mail ann")
    ((symptom, _),) = broken(trials=(two_senders(*ends, effects=(A,)),))
    assert symptom is Symptom.EFFECT_LOST


def test_two_at_once_of_which_none_has_finished() -> None:
    failed = (ran(1), ran(None, signal=6))
    assert judged(trials=(two_senders(*failed, effects=(A,)),)).outcome is Outcome.PASSED
    assert broken(trials=(two_senders(*failed, effects=(A, A)),))
    hung = ran(None, timed_out=True, wall_s=9.0)
    verdict = judged(trials=(two_senders(hung, ran(), effects=(A, B)),))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the run had not ended after 9.0 s" in verdict.reason


def test_what_is_not_asked_for_or_not_declared() -> None:
    assert judged(faults=frozenset({Fault.KILL})).outcome is Outcome.PASSED
    assert judged(capabilities=frozenset()).outcome is Outcome.NOT_APPLICABLE
    assert judged(faults=frozenset({Fault.DAMAGE})).outcome is Outcome.NOT_APPLICABLE


def test_unexplored_is_not_passed() -> None:
    coverage = {Fault.KILL: Coverage(derived=9, unique=9, explored=1, unreached=("write b",))}
    assert judged(coverage=coverage).outcome is Outcome.INCONCLUSIVE


def test_a_finished_job_sends_nothing() -> None:
    reference = sent(A, B, finished_effects=(A,))
    again = dataclasses.replace(reference.finished, effects=(A,))
    verdict = judge(
        evidence(reference=dataclasses.replace(reference, finished_again=again)),
        resume_is_idempotent,
    )
    assert verdict.reason == (
        "resumed after it had finished: the resume sends something again (mail ann)"
    )
