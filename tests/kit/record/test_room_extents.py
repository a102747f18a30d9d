"""Ranges that take room, against a set of all their units."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_checkpoint.record.room.extents import Extents

UNIT = 4
ENDS = st.integers(0, 60)
STEPS = st.lists(st.tuples(st.sampled_from(("add", "remove", "cut")), ENDS, ENDS), max_size=12)


def units(start: int, end: int) -> set[int]:
    return {number // UNIT for number in range(start, end)}


@settings(max_examples=300, deadline=None)
@given(STEPS, ENDS, ENDS, st.integers(0, 40))
def test_it_is_as_if_every_unit_was_remembered(
    steps: list[tuple[str, int, int]], start: int, length: int, room: int
) -> None:
    extents, held = Extents(UNIT), set[int]()
    for what, one, other in steps:
        low, high = min(one, other), max(one, other)
        before = len(held)
        if what == "add":
            held |= units(low, high)
            assert extents.add(low, high) == (len(held) - before) * UNIT
        elif what == "remove":
            held -= {n for n in held if n * UNIT >= low and (n + 1) * UNIT <= high}
            assert extents.remove(low, high) == (before - len(held)) * UNIT
        else:
            held = {n for n in held if n * UNIT < low}
            assert extents.remove(low) == (before - len(held)) * UNIT
        ranges = list(extents)
        assert [n for first, last in ranges for n in sorted(units(first, last))] == sorted(held)
        assert all(one[1] < two[0] for one, two in pairwise(ranges))
        assert extents.size == len(held) * UNIT

    end = start + length
    lacking = units(start, end) - held
    assert extents.lacking(start, end) == len(lacking) * UNIT
    refused = sorted(lacking)[room // UNIT :]
    expected = max(start, refused[0] * UNIT) if refused else end
    assert extents.reach(start, end, room) == expected


def test_a_range_of_a_terabyte_is_one_range() -> None:
    extents = Extents(4096)
    extents.add(5, 1 << 40)
    extents.remove(1 << 20, 1 << 39)

    assert list(extents) == [(0, 1 << 20), (1 << 39, 1 << 40)]
    assert extents.reach(0, 1 << 40, (1 << 39) - (1 << 20)) == 1 << 40
