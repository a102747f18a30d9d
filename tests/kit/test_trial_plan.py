"""Which trials there are, which are made, and in what order."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from checkpoint_contracts.evidence import Execution, Fault, Reference, TrialKind
from pytest_checkpoint.phases.trial_plan import PlannedTrial, chosen, coverage, possible
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import Event, Operation, Sync
from pytest_checkpoint.tree.image import Image

STAGES = frozenset(TrialKind) - {TrialKind.CHANGED}


def recorded(*writes: str, before: str = "") -> tuple[Recording, Reference]:
    """A run of which each write to the events file follows a sync of something."""
    operations: list[Operation] = []
    for data in writes:
        for effect in (Sync(None, data_only=False), Event(data.encode())):
            operations.append(
                Operation(step=len(operations) + 1, call="call", path=b"w", effects=(effect,))
            )
    done = Execution(exit_code=0)
    events = tuple(line for line in "".join((before, *writes)).split("\n") if line)
    reference = Reference(run=done, finished_resume=done, check=done, events=events)
    return Recording("/slot", Image({}), before.encode(), tuple(operations)), reference


def planned(
    *writes: str, kinds: Collection[TrialKind] = STAGES, variants: int = 0
) -> tuple[PlannedTrial, ...]:
    return possible(*recorded(*writes), kinds, variants)


def many(count: int) -> list[str]:
    return [f"start s{number}\ndone s{number}\n" for number in range(count)]


def test_stages_stand_where_they_first_start() -> None:
    found = planned("start a\n", "start a\n", "done a\n", "start", " b\n", "done b\n")
    assert [(one.point.id, one.point.operation) for one in found] == [
        ("2.raises-once", "stage a raises once"),
        ("10.raises-once", "stage b raises once"),
        ("2.raises-always", "stage a always raises"),
        ("10.raises-always", "stage b always raises"),
        ("2.killed-always", "stage a is killed at every attempt"),
        ("10.killed-always", "stage b is killed at every attempt"),
    ]
    assert {one.point.fault for one in found} == {Fault.STAGE_RAISES, Fault.STAGE_KILLED}
    assert {one.point.total_steps for one in found} == {12}
    assert len({one.point.signature for one in found}) == 3


def test_a_changed_pipeline_stands_after_each_done_line_and_at_the_end() -> None:
    writes = ("start a\n", "done a\nstart b\ndone b\n", "start c\n", "done c\n", "note\n")
    found = planned(*writes, kinds={TrialKind.CHANGED}, variants=2)
    assert [(one.point.id, one.point.operation) for one in found] == [
        ("4.changed-1", "changed pipeline 1 after 'done b'"),
        ("8.changed-1", "changed pipeline 1 after 'done c'"),
        ("10.changed-1", "changed pipeline 1 after the end"),
        ("4.changed-2", "changed pipeline 2 after 'done b'"),
        ("8.changed-2", "changed pipeline 2 after 'done c'"),
        ("10.changed-2", "changed pipeline 2 after the end"),
    ]


def test_ids_are_distinct_where_two_stages_start_in_one_write() -> None:
    found = planned("start a\nstart b\n", "done a\ndone b\n", kinds={TrialKind.RAISES_ONCE})
    assert [(one.stage, one.point.id) for one in found] == [
        ("a", "2.raises-once"),
        ("b", "2.raises-once-2"),
    ]


def test_what_setup_started_is_no_stage_to_fail_in_the_run() -> None:
    """A setup may do the first half of the job: no fault of the run's can reach that."""
    before = "start a\ndone a\nstart b\n"
    recording, reference = recorded("start b\n", "done b\n", before=before)
    found = possible(recording, reference, STAGES, 0)
    assert [(one.stage, one.point.step) for one in found] == [("b", 2)] * 3


@pytest.mark.parametrize(
    ("kind", "made"), [(TrialKind.RAISES_ONCE, 12), (TrialKind.KILLED_ALWAYS, 3)]
)
def test_of_many_stages_some_are_tried(kind: TrialKind, made: int) -> None:
    found = planned(*many(31), kinds={kind})
    wanted = chosen(found, seed=0, exhaustive=False)
    assert len(wanted) == made
    assert {"s0", "s30"} <= {one.stage for one in wanted}
    if kind is TrialKind.KILLED_ALWAYS:
        assert {one.stage for one in wanted} == {"s0", "s15", "s30"}
    assert chosen(found, seed=0, exhaustive=False) == wanted
    assert len(chosen(found, seed=0, exhaustive=True)) == 31


def test_the_seed_chooses() -> None:
    found = planned(*many(40), kinds={TrialKind.RAISES_ONCE})
    picks = {
        frozenset(one.stage for one in chosen(found, seed=seed, exhaustive=False))
        for seed in range(4)
    }
    assert len(picks) > 1


def test_each_changed_pipeline_has_its_own_share() -> None:
    found = planned(*many(20), kinds={TrialKind.CHANGED}, variants=2)
    wanted = chosen(found, seed=0, exhaustive=False)
    assert [sum(one.variant == number for one in wanted) for number in (1, 2)] == [12, 12]
    assert sum(one.point.step == 40 for one in wanted) == 2


def test_any_beginning_has_something_of_every_kind() -> None:
    wanted = chosen(planned(*many(5)), seed=0, exhaustive=False)
    assert [one.kind for one in wanted[:3]] == [
        TrialKind.RAISES_ONCE,
        TrialKind.RAISES_ALWAYS,
        TrialKind.KILLED_ALWAYS,
    ]
    assert [one.stage for one in wanted if one.kind is TrialKind.RAISES_ONCE] == [
        "s0",
        "s4",
        "s2",
        "s1",
        "s3",
    ]


def test_coverage() -> None:
    found = planned(*many(20), kinds={TrialKind.RAISES_ONCE})
    wanted = chosen(found, seed=0, exhaustive=False)
    points = [one.point for one in wanted]
    seen = coverage(found, wanted, set(points[:9]), {points[9]})
    assert list(seen) == [TrialKind.RAISES_ONCE]
    one = seen[TrialKind.RAISES_ONCE]
    assert (one.derived, one.unique, one.explored) == (20, 20, 9)
    assert one.unreached == tuple(point.operation for point in points[10:])
    assert one.known_hangs == (points[9],)
