"""Where writes are cut: the rules, pinned."""

from __future__ import annotations

import mmap
from itertools import pairwise

import pytest

from checkpoint_contracts.evidence import CrashPoint, Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.operations import Effect, Event, Operation, Origin, Sync, Write
from pytest_checkpoint.states.kill import CrashState, kill_state, kill_states, parse, point
from pytest_checkpoint.states.torn import cuts, first_cuts, torn_state


def _operation(step: int, *effects: Effect, call: str = "write") -> Operation:
    return Operation(step=step, call=call, path=b"w/f", effects=effects)


def test_kills_stand_before_the_first_and_after_each() -> None:
    operations = [_operation(1, Write(1, 0, b"x")), _operation(2, Event(b"done a\n"))]
    assert kill_states(operations) == [
        CrashState(Fault.KILL, step, "kill", None) for step in (0, 1, 2)
    ]


@pytest.mark.parametrize("length", [0, 1])
def test_what_cannot_be_cut_is_not(length: int) -> None:
    assert cuts(Write(1, 0, b"x" * length)) == []
    assert first_cuts(Write(1, 0, b"x" * length)) == []


@pytest.mark.parametrize("length", [2, 3, 256])
def test_small_writes_are_cut_at_every_byte(length: int) -> None:
    assert cuts(Write(1, 4090, b"x" * length)) == list(range(1, length))


def test_larger_writes_are_cut_at_first_middle_and_last() -> None:
    assert cuts(Write(1, 0, b"x" * 257)) == [1, 128, 256]


def test_newlines_are_cut_after() -> None:
    data = bytearray(b"x" * 1000)
    data[299] = data[999] = ord("\n")
    assert cuts(Write(1, 0, bytes(data))) == [1, 300, 500, 999]
    assert first_cuts(Write(1, 0, bytes(data))) == [500, 1, 999, 300]


def test_only_the_first_64_newlines_count() -> None:
    data = b"12345678\n" * 100
    assert cuts(Write(1, 0, data)) == sorted({1, 450, 899, *range(9, 65 * 9, 9)})


def test_newlines_are_found_anywhere_in_a_large_write() -> None:
    data = bytearray(300_000)
    places = [65_535, 65_536, 131_071, 250_000]
    for place in places:
        data[place] = ord("\n")
    assert first_cuts(Write(1, 0, bytes(data)))[3:] == [place + 1 for place in places]


def test_boundaries_are_those_of_the_file() -> None:
    write = Write(1, 4000, b"x" * 10_000)
    assert cuts(write) == [1, 96, 4192, 5000, 8288, 9999]
    aligned = Write(1, 8192, b"x" * 8192)
    assert cuts(aligned) == [1, 4096, 8191]


def test_boundaries_are_at_most_1024_and_evenly_spread() -> None:
    pages = 3000
    write = Write(1, 0, bytes(pages * 4096))
    boundaries = [cut for cut in cuts(write) if cut % 4096 == 0]
    gaps = {after - before for before, after in pairwise(boundaries)}
    assert len(boundaries) == 1024 + 1  # the middle is one too
    assert (boundaries[0], boundaries[-1]) == (4096, (pages - 1) * 4096)
    assert gaps <= {4096, 2 * 4096, 3 * 4096}
    exhaustive = [cut for cut in cuts(write, exhaustive=True) if cut % 4096 == 0]
    assert exhaustive == list(range(4096, pages * 4096, 4096))


def test_mapped_buffers_are_cut_alike() -> None:
    with mmap.mmap(-1, 70_000) as blob:
        blob[68_000:68_001] = b"\n"
        view = memoryview(blob)
        assert cuts(Write(1, 0, view)) == cuts(Write(1, 0, bytes(blob)))
        view.release()


def test_only_writes_of_calls_are_torn() -> None:
    operations = [
        _operation(1, Write(1, 0, b"abc")),
        _operation(2, Event(b"done a\n")),
        _operation(3, Write(1, 0, b"abc", Origin.MAPPED), call="store"),
        _operation(4, Write(1, 0, b"abc", Origin.ARRIVED), call="rename"),
        _operation(5, Sync(1, data_only=False), call="fsync"),
    ]
    assert [
        torn_state(operation.step, cut)
        for operation in operations
        if operation.write is not None
        for cut in cuts(operation.write)
    ] == [
        CrashState(Fault.TORN, 1, "torn-1", 1),
        CrashState(Fault.TORN, 1, "torn-2", 2),
    ]


def test_points_are_told_in_words() -> None:
    operations = [_operation(1, Write(1, 0, b"abc")), _operation(2, Event(b"done 17\n"))]
    assert point(torn_state(1, 2), operations) == CrashPoint(
        fault=Fault.TORN,
        step=1,
        variant="torn-2",
        operation="write f (3 bytes at 0)",
        signature="write f",
        total_steps=2,
    )
    last = point(kill_state(2), operations)
    assert (last.operation, last.signature, last.id) == (
        'event "done 17"',
        'event "done #"',
        "2.kill",
    )
    first = point(kill_state(0), operations)
    assert first.operation == first.signature == "before the first operation"


def test_points_can_be_read_back() -> None:
    for crash in (kill_state(0), kill_state(41), torn_state(41, 128)):
        assert parse(f"{crash.step}.{crash.variant}") == crash


@pytest.mark.parametrize(
    "text", ["", "41", "41.", "x.kill", "41.torn-", "41.torn-x", "-1.kill", "41.128"]
)
def test_what_is_no_point_is_a_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"no crash point: one looks like 41\.kill"):
        parse(text)
