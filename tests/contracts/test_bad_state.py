"""``bad-state-is-refused``, by hand-made evidence."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import archive, judge
from checkpoint_contracts.bad_state import bad_state_is_refused
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Damage,
    Evidence,
    Execution,
    Experiment,
    Fault,
)
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import HUNG, STEPS, checked, ran, seen, tried

FAULT = Fault.DAMAGE
REFUSED = ran(3, output="state.json is damaged\n")
DONE, AGAIN = ("start fetch", "done fetch"), ("start fetch", "done fetch", "start sum", "done sum")


def damaged(
    resume: Execution | None = None,
    check: Execution | None = None,
    *,
    could_be: bool = False,
    kept: bool | None = True,
    events_after: tuple[str, ...] = ("start sum", "done sum"),
    kind: str = "empty",
) -> Experiment:
    """``state.json`` emptied after ``done fetch``."""
    what = {"empty": "state.json emptied", "half": "state.json cut in half"}[kind]
    point = CrashPoint(
        fault=FAULT,
        step=9,
        variant=f"{kind}-1",
        operation=f'{what} after step 9 (event "done fetch")',
        signature="damaged: state.json",
        total_steps=STEPS,
    )
    damage = Damage(paths=("state.json",), what=what, could_be=could_be, kept=kept)
    return tried(point, resume, check, events_before=DONE, events_after=events_after, damage=damage)


def evidence(*experiments: Experiment, **fields: Any) -> Evidence:
    values: dict[str, Any] = {
        "replays": experiments,
        "faults": frozenset({FAULT}),
        "capabilities": frozenset({"refuses-bad-state"}),
    }
    return seen(*experiments, **{**values, **fields})


def judged(*experiments: Experiment, **fields: Any) -> Verdict:
    return judge(evidence(*experiments, **fields), bad_state_is_refused)


ACCEPTED = {
    "refused": damaged(REFUSED),
    "not needed, or rebuilt": damaged(),
    "an earlier moment": damaged(events_after=AGAIN, could_be=True),
    "refused although it could be": damaged(REFUSED, could_be=True),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted(name: str) -> None:
    assert judged(ACCEPTED[name]).outcome is Outcome.PASSED


BROKEN = {
    "starts over": (
        damaged(events_after=AGAIN),
        Symptom.DONE_AGAIN,
        "resume exits 0 and runs fetch again, which had been done",
    ),
    "believed": (
        damaged(check=checked("41\n")),
        Symptom.DAMAGE_TAKEN,
        "resume exits 0 with another result: the damage was taken for good",
    ),
    "believed, though it could be": (
        damaged(check=checked("41\n"), could_be=True),
        Symptom.DAMAGE_TAKEN,
        "resume exits 0 with another result: the damage was taken for good",
    ),
    "check fails": (
        damaged(check=checked(exit_code=1)),
        Symptom.DAMAGE_TAKEN,
        "resume exits 0 with a check that exits 1: the damage was taken for good",
    ),
    "check hangs": (
        damaged(check=HUNG),
        Symptom.CHECK_HANG,
        (
            "resume exits 0 with a check that had not ended after 10.0 s: the damage was taken for "
            "good"
        ),
    ),
    "silent": (damaged(ran(3)), Symptom.SILENT_STOP, "resume exits 3 without a word"),
    "destroyed": (
        damaged(REFUSED, kept=False),
        Symptom.DAMAGE_DESTROYED,
        "resume exits 3, and what was left of state.json is gone",
    ),
    "dies": (
        damaged(ran(None, signal=11, output="Fatal Python error\n")),
        Symptom.RESUME_FAILED,
        "resume dies by SIGSEGV",
    ),
    "hangs": (damaged(HUNG), Symptom.HANG, "resume had not ended after 10.0 s"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not(name: str) -> None:
    experiment, symptom, words = BROKEN[name]
    verdict = judged(experiment)
    assert verdict.outcome is Outcome.FAILED
    finding = verdict.failures[0].finding
    assert finding.symptom is symptom
    assert finding.headline == f'state.json emptied after step 9 (event "done fetch"): {words}'
    assert finding.expected
    assert finding.seen
    assert finding.likely_cause.endswith(".")


def test_all_that_was_done_to_one_file_is_one_cause() -> None:
    verdict = judged(damaged(events_after=AGAIN), damaged(events_after=AGAIN, kind="half"))
    assert [failure.count for failure in verdict.failures] == [2]


def test_it_must_show_again() -> None:
    verdict = judged(damaged(events_after=AGAIN), replays=(damaged(),))
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_a_hang_that_ends_in_its_replay_is_judged_as_it_ends() -> None:
    verdict = judged(damaged(HUNG), replays=(damaged(ran(3, output="no\n", wall_s=12.0)),))
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == (
        (
            'state.json emptied after step 9 (event "done fetch"): resumes after 12.0 s, but not '
            "with exit 0"
        ),
    )


def test_without_the_capability_it_does_not_apply() -> None:
    verdict = judged(damaged(), capabilities=frozenset())
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == "the subject does not declare the capability refuses-bad-state"


def test_what_was_not_looked_at_passes_nothing() -> None:
    assert judged(damaged(REFUSED, kept=None)).outcome is Outcome.INCONCLUSIVE
    assert judged(damaged(ran(refusal="it connects"))).outcome is Outcome.INCONCLUSIVE
    assert judged(coverage={}).outcome is Outcome.INCONCLUSIVE
    coverage = {FAULT: Coverage(derived=2, unique=2, explored=1, unreached=("state.json emptied",))}
    assert judged(damaged(REFUSED), coverage=coverage).reason.startswith(
        "the budget ended too early: not covered is state.json emptied; "
    )


def test_without_state_there_is_nothing_to_damage() -> None:
    verdict = judged(coverage={FAULT: Coverage(derived=0, unique=0, explored=0)})
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("there is no state to damage")


def test_it_is_kept_and_judged_again() -> None:
    first = evidence(damaged(events_after=AGAIN), damaged(REFUSED, kept=False, kind="half"))
    again = archive.load(archive.dump(first))
    assert again == first
    assert judge(again, bad_state_is_refused) == judge(first, bad_state_is_refused)
