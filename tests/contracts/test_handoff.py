"""What a handoff must say at a crash, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import judge, wants_handoff
from checkpoint_contracts.evidence import Experiment, Handoff
from checkpoint_contracts.handoff import handoff_tells_next
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import killed, power_lost, ran, seen, torn, tried, undisturbed

RUN = ("start a", "done a", "start b", "done b", "start c", "done c")


def told(*done: str, following: tuple[str, ...] = (), **fields: Any) -> Handoff:
    fields = {"names_next": bool(following), "text": "{…}", **fields}
    return Handoff(done=done, next=following, **fields)


def at(before: int, handoff: Handoff | None, after: tuple[str, ...] | None = None) -> Experiment:
    """Killed after so many lines; the resume writes the others, or ``after``."""
    return tried(
        killed(before + 1, f"write {before}"),
        events_before=RUN[:before],
        events_after=RUN[before:] if after is None else after,
        handoff=handoff,
    )


AT_3 = "killed at step 3 (write 2): "
GOOD = at(2, told("a", following=("b",)))


def judged(*experiments: Experiment, **fields: Any) -> Verdict:
    fields = {
        "capabilities": frozenset({"handoff"}),
        "reference": undisturbed(events=RUN),
        "replays": experiments,
        **fields,
    }
    return judge(seen(*experiments, **fields), handoff_tells_next)


def symptoms(*experiments: Experiment) -> list[Symptom]:
    return [failure.finding.symptom for failure in judged(*experiments).failures]


@pytest.mark.parametrize(
    "experiment",
    [
        at(0, Handoff(absent="handoff.json is not there")),
        at(1, Handoff(absent="handoff.json is not there")),
        at(0, told(following=("a",))),
        at(2, told("a", following=("b", "c"))),
        # Committed and not yet said: told already, or not yet.
        at(3, told("a", "b", following=("c",)), RUN[4:]),
        at(3, told("a", following=("b",)), RUN[4:]),
        at(3, told("a", following=("b",)), RUN[2:]),
        at(6, told("a", "b", "c")),
        at(5, told("a", "b", failed=("c",))),
        at(2, told("a", names_next=True)),  # of something that is no stage
        # The resume died before it came to b: nothing says that it was not committed.
        at(3, told("a", "b", following=("c",)), ()),
    ],
)
def test_what_is_right(experiment: Experiment) -> None:
    assert judged(GOOD, experiment).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("experiment", "symptom", "headline"),
    [
        (
            at(2, Handoff(absent="handoff.json is not there")),
            Symptom.HANDOFF_ABSENT,
            f"{AT_3}handoff.json is not there, though a had been done",
        ),
        (
            at(0, Handoff(problem="handoff.json: it is empty")),
            Symptom.HANDOFF_UNREADABLE,
            "killed at step 1 (write 0): the handoff cannot be read: handoff.json: it is empty",
        ),
        (
            at(4, told("b", following=("c",))),
            Symptom.HANDOFF_FORGETS,
            "killed at step 5 (write 4): the handoff does not name a, which had been done",
        ),
        (
            at(3, told("a", "b", following=("c",)), RUN[2:]),
            Symptom.HANDOFF_AHEAD,
            "killed at step 4 (write 3): the handoff names b as done, which is not committed",
        ),
        (
            at(2, told("a", "b", following=("c",))),
            Symptom.HANDOFF_AHEAD,
            f"{AT_3}the handoff names b as done, which is not committed",
        ),
        (
            at(2, told("a", "b", following=("c",)), ()),
            Symptom.HANDOFF_AHEAD,
            f"{AT_3}the handoff names b as done, which is not committed",
        ),
        (
            at(2, told("a", following=("a",))),
            Symptom.HANDOFF_NEXT,
            f"{AT_3}the handoff names a as next, which is done",
        ),
        (
            at(2, told("a")),
            Symptom.HANDOFF_NEXT,
            f"{AT_3}the handoff names nothing as next, though still to do: b, c",
        ),
    ],
)
def test_what_is_wrong(experiment: Experiment, symptom: Symptom, headline: str) -> None:
    verdict = judged(experiment)
    assert verdict.outcome is Outcome.FAILED
    assert [failure.finding.symptom for failure in verdict.failures] == [symptom]
    assert verdict.reason == headline


def test_a_command_that_tells_nothing_is_no_file_written_in_place() -> None:
    def cause(problem: str) -> str:
        (failure,) = judged(at(2, Handoff(problem=problem))).failures
        return failure.finding.likely_cause

    assert "the command does not end" in cause("the handoff command had not ended after 60.0 s")
    assert "under its final name" in cause("handoff.json: it is empty")


def test_a_stage_that_was_acknowledged_and_runs_again_is_named_rightly() -> None:
    """That it runs again is what resume-skips-done is about."""
    assert symptoms(at(2, told("a", following=("b",)), RUN)) == []


def test_one_stage_is_one_cause() -> None:
    late = (at(2, told(following=("b",))), at(3, told(following=("b",))))
    assert [failure.count for failure in judged(*late).failures] == [2]


def test_what_does_not_show_again_is_inconclusive() -> None:
    wrong, right = at(2, told("a")), at(2, told("a", following=("b",)))
    assert judged(wrong, replays=(right,)).outcome is Outcome.INCONCLUSIVE
    assert judged(wrong, replays=()).outcome is Outcome.INCONCLUSIVE
    other = at(2, Handoff(problem="it is empty"))
    assert judged(wrong, replays=(other,)).outcome is Outcome.INCONCLUSIVE


def test_a_handoff_that_nobody_read_is_a_gap() -> None:
    verdict = judged(GOOD, at(3, None))
    assert (verdict.outcome, verdict.reason) == (
        Outcome.INCONCLUSIVE,
        "the handoff was not read at 4.kill",
    )
    unread = at(3, Handoff(unread="a process survived"))
    assert judged(GOOD, unread).reason == "a process survived"


def test_other_faults_are_not_looked_at() -> None:
    wrong = [
        tried(point, events_before=RUN[:2], events_after=RUN[2:], handoff=told("c"))
        for point in (torn(3), power_lost(3))
    ]
    assert judged(GOOD, *wrong).outcome is Outcome.PASSED


def test_an_unusable_resume_says_nothing_of_what_was_committed() -> None:
    experiment = tried(
        killed(4),
        ran(refusal="no network"),
        events_before=RUN[:3],
        events_after=RUN[2:],
        handoff=told("a", "b", following=("c",)),
    )
    assert not judged(GOOD, experiment).failures


def test_before_any_acknowledgement_there_is_nothing_to_tell() -> None:
    verdict = judged(at(1, told(following=("a",))))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no kill point lies behind a stage's done line")


def test_it_must_be_declared_and_there_must_be_stages() -> None:
    undeclared = judged(GOOD, capabilities=frozenset())
    assert undeclared.outcome is Outcome.NOT_APPLICABLE
    assert undeclared.reason.startswith("no handoff is declared: ")
    stageless = judged(GOOD, reference=undisturbed(events=()))
    assert stageless.reason.startswith("no stages were seen")


def test_it_is_read_only_where_it_is_judged() -> None:
    assert wants_handoff(killed(3))
    assert wants_handoff(killed(3), {"handoff-tells-next"})
    assert not wants_handoff(killed(3), {"resume-keeps-work"})
    assert not wants_handoff(torn(3))
