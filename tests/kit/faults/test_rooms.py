"""How little room a run may have: the boundaries that a recording gives."""

from __future__ import annotations

import errno

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.phases.faults.rooms import (
    block_rises,
    find_room,
    first_refused,
    inode_rises,
    planned_rooms,
)
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.journal import Recording
from tests.kit.power_loss.programs import Program

PAGE = 4096


def recorded(program: Program) -> Recording:
    return Recording("/slot", program.start, b"", tuple(program.operations))


def replaced(*, keeps: int = 1) -> Program:
    """A state of two blocks, made anew beside the old one: four at most, and two in the end."""
    program = Program(state=b"x" * PAGE * keeps)
    program.create("tmp")
    program.write("tmp", b"y" * (PAGE + 1))
    program.fsync("tmp")
    program.rename("tmp", "state")
    return program


def rises(program: Program) -> tuple[list[tuple[int, range]], list[tuple[int, range]]]:
    """By step: blocks, and inodes."""
    recording = recorded(program)
    blocks, inodes = block_rises(recording), inode_rises(recording)
    return (
        [(one.operation.step, one.boundaries) for one in blocks],
        [(one.operation.step, one.boundaries) for one in inodes],
    )


def test_from_what_setup_left_to_the_most_that_was_needed() -> None:
    """The directory takes an inode, and so do the state and the file beside it."""
    assert rises(replaced()) == ([(2, range(1, 3))], [(1, range(2, 3))])


def test_what_goes_makes_room_for_what_comes() -> None:
    program = replaced(keeps=4)
    program.write("state", b"z" * PAGE * 2)  # less than there was before
    program.create("tmp2")
    program.write("tmp2", b"z" * PAGE * 3)
    assert rises(program) == ([(2, range(4, 6)), (7, range(6, 7))], [(1, range(2, 3))])


def test_a_file_without_a_name_is_held_until_it_is_linked() -> None:
    program = Program()
    program.create_unnamed("file")
    program.write("file", b"x" * PAGE)
    program.link("file", "state")
    blocks, _ = rises(program)
    assert blocks == [(2, range(1))]


def test_a_job_that_needs_nothing_more() -> None:
    program = Program(state=b"x" * PAGE)
    program.write("state", b"y" * PAGE, 0)
    assert rises(program) == ([], [])
    assert planned_rooms(recorded(program), seed=0, most=9, exhaustive=False) == ([], [], 0)


def large() -> Recording:
    program = Program()
    program.create("a")
    program.write("a", b"x" * PAGE * 9)
    program.write("a", b"x")
    program.write("a", b"x" * PAGE * 5)
    return recorded(program)


def test_one_boundary_for_every_operation_comes_first() -> None:
    needed, others, total = planned_rooms(large(), seed=0, most=99, exhaustive=False)
    assert [one.point.id for one in needed] == ["0.room-0", "0.room-10", "0.room-9", "0.inodes-1"]
    assert len({one.covers for one in needed} - {""}) == 4
    ids = [one.point.id for one in others]
    # The twins of those on a real file system, these, and those that a quota refuses.
    assert ids[:9] == [
        *("0.room-8", "0.room-14"),
        *("0.room-8-real", "0.room-14-real", "0.room-9-real"),
        *("0.room-0-edquot", "0.room-10-edquot", "0.room-9-edquot"),
        ids[8],
    ]
    assert len({*ids, *(one.point.id for one in needed)}) == total == 15 + 1 + 3 + 3
    assert not any(one.covers for one in others if one.point.variant.count("-") > 1)


def test_a_file_system_of_no_blocks_is_none() -> None:
    program = Program()
    program.create("a")
    program.write("a", b"x")
    _, others, _ = planned_rooms(recorded(program), seed=0, most=9, exhaustive=False)
    assert [one.point.id for one in others] == ["0.room-0-edquot"]


def test_the_boundaries_between_are_shuffled_and_no_more_than_wanted() -> None:
    def rest(seed: int, most: int, *, exhaustive: bool = False) -> list[str]:
        _, others, _ = planned_rooms(large(), seed=seed, most=most, exhaustive=exhaustive)
        return [one.point.id for one in others][8:]

    assert len(rest(0, 3)) == 3
    assert rest(0, 99) != rest(1, 99)
    assert sorted(rest(0, 0, exhaustive=True)) == sorted(rest(1, 99))


def test_it_is_told_in_the_users_terms() -> None:
    needed, others, _ = planned_rooms(large(), seed=0, most=99, exhaustive=False)
    by_id = {one.point.id: one for one in (*needed, *others)}
    assert by_id["0.room-10"].point.operation == (
        "the disk is full at step 4 (write a (20480 bytes at 36865); 10 blocks)"
    )
    assert by_id["0.inodes-1"].point.operation == (
        "the disk has no inode left at step 1 (create a; 1 inode)"
    )
    assert by_id["0.room-9-edquot"].point.operation.startswith("the quota is used up at step 3 (")
    assert by_id["0.room-9-real"].point.operation.endswith(
        "; 9 blocks on a file system of its own)"
    )
    assert {one.point.fault for one in by_id.values()} == {Fault.NO_SPACE}


def test_it_is_found_again_by_its_name() -> None:
    recording = large()
    needed, others, _ = planned_rooms(recording, seed=0, most=99, exhaustive=False)
    for one in (*needed, *others):
        assert find_room(recording, one.point.variant) == one
    edquot = find_room(recording, "room-9-edquot")
    assert edquot is not None
    assert edquot.action == Room(blocks=9, error=errno.EDQUOT)
    for none in ("room-15", "room--1", "room-x", "inodes-9", "rooms-1", "room-9-other", "room"):
        assert find_room(recording, none) is None, none
    assert first_refused(recording, "room-9-edquot") == 3
    assert first_refused(recording, "room-15") is None
