"""Where second starts and deaths come, by what is recorded; and that each is found by its name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.alone.planned import KINDS, find, planned
from pytest_checkpoint.record.operations import Operation
from tests.kit.power_loss.programs import Program


def locked(stages: int = 3) -> list[Operation]:
    """1 create lock, 2 write it; then of each stage start, create, rename, done."""
    program = Program()
    program.create("lock")
    program.write("lock", b"7")
    for number in range(stages):
        program.event(f"start {number}")
        program.create(f"{number}.half")
        program.rename(f"{number}.half", str(number))
        program.event(f"done {number}")
    return program.operations


def ids(
    operations: Sequence[Operation], kind: TrialKind, *, two_commands: bool = False
) -> list[str]:
    found = planned(operations, kind, two_commands=two_commands, exhaustive=False)
    return [one.point.id for one in found]


def test_around_the_lock_and_within_stages() -> None:
    first, late, *others = ids(locked(), TrialKind.SECOND_START)
    assert late == "1.late-start"
    assert [first, *others] == [
        f"{where[:-1]}.second-start-{'before' if where[-1] == 'b' else 'after'}"
        for where in ("3a", "1b", "1a", "5b", "2b", "11a", "13b", "4b")
    ]
    assert ids(locked(), TrialKind.DEAD_HOLDER) == [f"{step}.dead-holder" for step in (3, 1, 2, 11)]
    assert ids(locked(), TrialKind.NUMBER_REUSED) == ["3.number-reused", "11.number-reused"]
    assert ids(locked(), TrialKind.SAME_INSTANT)[-1] == "0.same-instant-5"


def test_the_resume_is_the_second_too_where_it_is_another_command() -> None:
    both = ids(locked(), TrialKind.SECOND_START, two_commands=True)
    starts = ids(locked(), TrialKind.SECOND_START)
    assert both[: len(starts)] == starts
    assert both[len(starts) :] == [
        one.replace("start", "resume") for one in (starts[0], *starts[2:5])
    ]


def test_without_start_lines_the_middle_comes_first() -> None:
    program = Program()
    for number in range(6):
        program.create(str(number))
    assert ids(program.operations, TrialKind.SECOND_START)[0] == "4.second-start-after"
    assert ids(program.operations, TrialKind.NUMBER_REUSED) == [
        "4.number-reused",
        "6.number-reused",
    ]


def test_one_operation_is_enough() -> None:
    program = Program()
    program.create("only")
    for kind in KINDS:
        assert ids(program.operations, kind)


def test_exhaustive_is_everything_that_can_be_done() -> None:
    found = planned(locked(1), TrialKind.SECOND_START, two_commands=True, exhaustive=True)
    assert len(found) == 2 * (6 + 4) + 1  # an event cannot be put aside; and the late one
    assert len({one.point.id for one in found}) == len(found)
    few = planned(locked(), TrialKind.DEAD_HOLDER, two_commands=False, exhaustive=False, most=2)
    assert len(few) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_found_by_its_name(kind: TrialKind) -> None:
    operations = locked()
    for one in planned(operations, kind, two_commands=True, exhaustive=True):
        step, _, variant = one.point.id.partition(".")
        assert find(operations, int(step), variant) == one


@pytest.mark.parametrize(
    "name",
    ["15.dead-holder", "0.dead-holder", "1.same-instant-1", "0.same-instant-0", "2.late-start"],
)
def test_no_such(name: str) -> None:
    step, _, variant = name.partition(".")
    assert find(locked(), int(step), variant) is None
