"""Room in the staging: what would pass the high mark waits, and goes on below the low one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime.extract.errors import ExtractInputError, StagingError
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Reservation, Room
from checkpoint_runtime.extract.staging.usage import Usage

BLOCK = 4096


class Disk:
    """A file system of a hundred blocks, and what others hold of it."""

    def __init__(self, blocks: int = 100, inodes: int = 1000) -> None:
        self.blocks, self.inodes = blocks, inodes
        self.others = 0
        self.other_inodes = 0
        self.now_s = 0.0
        self.looks = 0
        self.on_look: Callable[[int], None] = lambda number: None

    def later(self, timeout: float | None = None) -> bool:
        self.now_s += 0.1
        return True

    def look(self, folder: Path) -> Usage:
        self.looks += 1
        self.on_look(self.looks)
        return Usage(
            total_bytes=self.blocks * BLOCK,
            free_bytes=(self.blocks - self.others) * BLOCK,
            total_inodes=self.inodes,
            free_inodes=self.inodes - self.other_inodes,
            block_bytes=BLOCK,
        )


def room_on(
    disk: Disk,
    notes: list[str] | None = None,
    *,
    clear: Callable[[], bool] = lambda: False,
    **marks: float,
) -> Room:
    changed = threading.Condition()
    # No test waits for real: each look is a tenth of a second later.
    setattr(changed, "wait", disk.later)  # noqa: B010 - mypy and pyright differ on assigning it
    budget = marks.pop("budget_bytes", None)
    return Room(
        Path("staging"),
        Marks(budget_bytes=None if budget is None else int(budget), **marks),
        changed=changed,
        note=(lambda text: None) if notes is None else notes.append,
        clear=clear,
        look=disk.look,
        clock=lambda: disk.now_s,
    )


def test_sizes_are_counted_in_blocks() -> None:
    room = room_on(Disk())
    assert room.reserve(1).size_bytes == BLOCK
    assert room.reserve(BLOCK + 1).size_bytes == 2 * BLOCK
    assert room.held_bytes == room.peak_bytes == 3 * BLOCK


def test_what_would_pass_the_high_mark_waits_until_it_is_low() -> None:
    disk, notes = Disk(), list[str]()
    room = room_on(disk, notes)
    held = [room.reserve(20 * BLOCK) for _ in range(4)]  # 80 of 100: exactly at the mark
    assert (room.pauses, notes) == (0, [])

    def free(number: int) -> None:
        if number == 8:
            room.release(held[0])  # 60: the low mark; one more would make 80 again

    disk.on_look = free
    held.append(room.reserve(20 * BLOCK))
    assert (room.pauses, disk.looks >= 8) == (1, True)
    assert room.peak_bytes == 80 * BLOCK
    assert notes[0].startswith(
        "the staging staging is full: 327,680 bytes are taken of the file system's 409,600, 81,920 "
        "more are needed, and the high mark is 80 %. Paused: 4 files of this worker, 327,680 bytes"
    )
    assert notes[1].startswith("the staging has room again after ")
    assert room.paused_s == pytest.approx(disk.now_s)


def test_below_the_high_mark_alone_is_not_enough_to_go_on() -> None:
    disk = Disk()
    room = room_on(disk)
    held = [room.reserve(10 * BLOCK) for _ in range(8)]
    went: list[int] = []

    def free(number: int) -> None:
        if number > 8 and number % 5 == 0 and held:
            room.release(held.pop())
            went.append(len(held))

    disk.on_look = free
    room.reserve(BLOCK)
    assert went == [7, 6]  # 70 and a block would fit under 80, and is not low


def test_what_others_hold_counts_and_what_is_staged_counts_once() -> None:
    disk = Disk()
    room = room_on(disk, deadline_s=1.0)
    first = room.reserve(30 * BLOCK)
    disk.others = 30  # statvfs sees the staged file too
    room.allocated(first)
    second = room.reserve(50 * BLOCK)  # 80
    room.release(first)
    room.release(second)
    disk.others = 75
    with pytest.raises(StagingError) as caught:
        room.reserve(10 * BLOCK)
    text = str(caught.value)
    assert text.startswith(
        "staging: there is no room for the next batch: 40,960 bytes are needed, "
    )
    assert "102,400 bytes and 1,000 inodes are free" in text
    assert disk.now_s == pytest.approx(1.0, abs=0.2)


def test_with_nothing_of_ours_left_the_high_mark_decides() -> None:
    disk = Disk()
    disk.others = 70  # above the low mark for good
    room = room_on(disk)
    held = room.reserve(10 * BLOCK)
    disk.on_look = lambda number: room.release(held) if number == 5 else None
    assert room.reserve(10 * BLOCK).size_bytes == 10 * BLOCK
    assert room.pauses == 1


def test_what_lies_there_already_is_counted_whatever_the_marks() -> None:
    disk = Disk()
    disk.others = 9  # the file system tells of it, too
    room = room_on(disk, budget_bytes=10 * BLOCK, deadline_s=1.0)
    taken = room.counted(8 * BLOCK + 1)
    assert (taken.size_bytes, room.held_bytes, room.peak_bytes) == (9 * BLOCK,) * 3
    disk.on_look = lambda number: room.release(taken) if number == 4 else None
    room.reserve(8 * BLOCK)
    assert (room.pauses, room.held_bytes) == (1, 8 * BLOCK)


def test_at_the_deadline_what_others_can_do_without_is_removed() -> None:
    disk = Disk()
    disk.others = 75
    asked: list[float] = []

    def clear() -> bool:
        asked.append(disk.now_s)
        disk.others -= 10
        return disk.others > 50

    room = room_on(disk, clear=clear, deadline_s=1.0)
    room.reserve(10 * BLOCK)
    assert len(asked) == 1
    assert 1.0 <= asked[0] < 1.2
    with pytest.raises(StagingError, match="there is no room for the next batch"):
        room_on(disk, clear=lambda: False, deadline_s=1.0).reserve(70 * BLOCK)


def test_the_deadline_does_not_run_while_something_of_ours_is_there() -> None:
    disk = Disk()
    room = room_on(disk, deadline_s=1.0)
    held = room.reserve(80 * BLOCK)
    disk.on_look = lambda number: room.release(held) if number == 100 else None
    room.reserve(BLOCK)
    assert disk.now_s > 5.0


def test_inodes_count() -> None:
    disk = Disk(inodes=10)
    room = room_on(disk)
    held = [room.reserve(1) for _ in range(8)]
    disk.on_look = lambda number: room.release(held.pop()) if 12 < number < 15 else None
    room.reserve(1)
    assert room.pauses == 1
    assert len(held) == 6
    disk.inodes = 0  # a file system that counts none
    for _ in range(5):
        room.reserve(1)


def test_the_budget_is_kept_whatever_the_file_system_has() -> None:
    disk, notes = Disk(blocks=10**6), list[str]()
    room = room_on(disk, notes, budget_bytes=100 * BLOCK, high=0.5, low=0.2)
    held: list[Reservation] = [room.reserve(25 * BLOCK), room.reserve(25 * BLOCK)]
    disk.on_look = lambda number: room.release(held.pop()) if number in (6, 9) else None
    room.reserve(25 * BLOCK)
    assert held == []
    assert "of the staging's budget of 409,600" in notes[0]
    assert room.peak_bytes == 50 * BLOCK


@pytest.mark.parametrize("budget", [None, 100 * BLOCK])
def test_what_can_never_fit_is_an_error_at_once(budget: int | None) -> None:
    disk = Disk(blocks=100 if budget is None else 10**6)
    room = room_on(disk) if budget is None else room_on(disk, budget_bytes=budget)
    with pytest.raises(
        StagingError, match=r"one batch needs 331,776 bytes, and 80 % of .* are 327,"
    ):
        room.reserve(81 * BLOCK)
    assert disk.now_s == 0.0


def test_what_ends_the_work_ends_the_waiting() -> None:
    disk = Disk()
    changed = threading.Condition()
    trouble = RuntimeError("the uploader is gone")
    calls: list[int] = []

    def check() -> None:
        calls.append(1)
        if len(calls) > 3:
            raise trouble

    room = Room(Path("s"), Marks(), changed=changed, check=check, look=disk.look)
    room.reserve(80 * BLOCK)
    with pytest.raises(RuntimeError) as caught:
        room.reserve(BLOCK)
    assert caught.value is trouble


def test_a_release_wakes_who_waits() -> None:
    disk = Disk()
    room = Room(Path("s"), Marks(), look=disk.look)
    held = room.reserve(80 * BLOCK)
    timer = threading.Timer(0.05, room.release, [held])
    timer.start()
    room.reserve(BLOCK)
    timer.join()
    assert room.pauses == 1


@pytest.mark.parametrize(
    "marks",
    [
        {"high": 0.5, "low": 0.6},
        {"low": 0.0},
        {"high": 1.1},
        {"budget_bytes": 0},
        {"deadline_s": -1},
    ],
)
def test_marks_that_are_none_are_refused(marks: dict[str, float]) -> None:
    with pytest.raises(ExtractInputError, match="--staging-"):
        Marks(**marks)  # type: ignore[arg-type]
