"""resume-is-idempotent: judged from the control run, whichever faults are asked for."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import judge, replays_needed, wants_second_look
from checkpoint_contracts.evidence import Evidence, Fault, Finished
from checkpoint_contracts.finished_job import resume_is_idempotent
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import HUNG, SOUND, checked, killed, ran, seen, tried, undisturbed

CONTRACT = resume_is_idempotent
CHANGED: dict[str, Any] = {"finished_changes": ("report.json: 12 bytes before, 14 after",)}


def finished(**fields: Any) -> Evidence:
    return seen(*SOUND, reference=undisturbed(**fields))


def again(**fields: Any) -> Finished:
    return Finished(**{"resume": ran(), "check": checked(), **fields})


@pytest.mark.parametrize("faults", [set(), {Fault.KILL}, {Fault.POWER_LOSS}, set(Fault)])
def test_it_is_judged_whichever_faults_are_asked_for(faults: set[Fault]) -> None:
    evidence = seen(faults=frozenset(faults), coverage={})
    verdict = judge(evidence, CONTRACT)
    assert (verdict.outcome, verdict.reason, verdict.notes) == (Outcome.PASSED, "", ())
    assert (verdict.states_explored, verdict.states_total) == (0, 0)


def test_no_experiment_has_a_part_in_it() -> None:
    refused = tried(killed(7), ran(refusal="connect was refused"))
    evidence = seen(refused, unobservable=dict.fromkeys(Fault, "mapped"))
    assert judge(evidence, CONTRACT).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("fields", "second", "symptom", "headline"),
    [
        (
            CHANGED,
            again(changes=("report.json: 14 bytes before, 16 after",)),
            Symptom.OUTPUT_CHANGED,
            "changes 1 output: report.json: 12 bytes before, 14 after",
        ),
        (
            {"finished_resume_events": ("start sum", "input sum 1f", "done sum")},
            again(events=("start sum", "done sum")),
            Symptom.RUNS_AGAIN,
            "runs something again (start sum, done sum)",
        ),
        (
            {"finished_resume_events": ("fail sum",)},
            again(events=("fail sum",)),
            Symptom.RUNS_AGAIN,
            "runs something again (fail sum)",
        ),
        (
            {"finished_check": checked("43\n")},
            again(check=checked("44\n")),
            Symptom.DIFFERENT_RESULT,
            "has another result than before",
        ),
        (
            {"finished_check": checked("", 1)},
            again(check=checked("44\n")),
            Symptom.CHECK_FAILED,
            "exits 0, but the check exits 1",
        ),
        (
            {"finished_check": HUNG},
            again(check=HUNG),
            Symptom.CHECK_HANG,
            "exits 0, but the check had not ended after 10.0 s",
        ),
    ],
)
def test_what_matters_and_repeats_fails(
    fields: dict[str, Any], second: Finished, symptom: Symptom, headline: str
) -> None:
    once = finished(**fields)
    assert once.reference is not None
    assert wants_second_look(once.reference)
    verdict = judge(finished(**fields, finished_again=second), CONTRACT)
    assert verdict.outcome is Outcome.FAILED
    (failure,) = verdict.failures
    assert failure.finding.symptom is symptom
    assert failure.finding.headline == f"resumed after it had finished: the resume {headline}"
    assert failure.finding.likely_cause
    assert verdict.faults_failed == ()


def test_each_kind_is_a_finding_of_its_own() -> None:
    evidence = finished(
        **CHANGED,
        finished_resume_events=("start sum",),
        finished_again=again(changes=("report.json: …",), events=("start sum",)),
    )
    symptoms = [one.finding.symptom for one in judge(evidence, CONTRACT).failures]
    assert symptoms == [Symptom.OUTPUT_CHANGED, Symptom.RUNS_AGAIN]


def test_what_shows_only_once_accuses_nobody() -> None:
    verdict = judge(finished(**CHANGED, finished_again=again()), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: not seen again when it was replayed: resumed")


def test_another_kind_the_second_time_is_no_repetition() -> None:
    verdict = judge(finished(**CHANGED, finished_again=again(events=("start sum",))), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject")


def test_what_was_not_looked_at_twice_is_inconclusive_and_asks_for_no_crash() -> None:
    verdict = judge(finished(**CHANGED), CONTRACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("seen once and not yet replayed: resumed after")
    assert replays_needed(finished(**CHANGED)) == ()


def test_a_sound_subject_needs_no_second_look() -> None:
    assert not wants_second_look(undisturbed())
    lines = ("input sum 1f", "note", "starting")
    assert not wants_second_look(undisturbed(finished_resume_events=lines))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"finished_check": None},
            "the check was not run after the resume of the finished job",
        ),
        ({"finished_check": ran(None, problem="a process survived")}, "a process survived"),
        (
            {"finished_again": again(resume=ran(1), check=None), **CHANGED},
            "the resume of the finished job exits 1",
        ),
    ],
)
def test_what_could_not_be_seen_is_inconclusive(fields: dict[str, Any], sentence: str) -> None:
    verdict = judge(finished(**fields), CONTRACT)
    assert (verdict.outcome, verdict.reason.partition(" (and")[0]) == (
        Outcome.INCONCLUSIVE,
        sentence,
    )


def test_other_files_are_a_note() -> None:
    notes = tuple(f"log.{number}: 1 bytes before, 2 after" for number in range(7))
    verdict = judge(finished(finished_notes=notes), CONTRACT)
    assert verdict.outcome is Outcome.PASSED
    (note,) = verdict.notes
    assert note.startswith("resuming the finished job changes files that are no outputs: log.0: 1")
    assert note.endswith("; and 2 more")


def test_a_finding_is_replayed_at_the_kill_after_the_last_step() -> None:
    evidence = finished(**CHANGED, finished_again=again(changes=("x",)), steps=24)
    assert judge(evidence, CONTRACT).failures[0].finding.point.id == "24.kill"
