"""What was kept comes back as it was, to the bit, of the same types throughout."""

from __future__ import annotations

import datetime as dt
import math
import os
import sys
import uuid
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from checkpoint_runtime import codec
from tests.runtime.values.exactness import is_same, there_and_back
from tests.runtime.values.sample_classes import Box, Frame, Odd, Size
from tests.runtime.values.strategies import VALUES


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_any_value_comes_back_exactly(value: object) -> None:
    assert is_same(there_and_back(value), value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        (),
        set(),
        frozenset(),
        "",
        b"",
        bytearray(),
        -0.0,
        math.nan,
        -math.nan,
        Decimal("sNaN123"),
        Decimal("-0E+999"),
        10**700,
        -(2**20000),
        {"$tuple": [1]},
        {"$": {"$dict": [[1, 2]]}},
        {1: "int", "1": "str"},
        {True: "not 1"},
        {(): {b"": {None: {1.5: {}}}}},
        OrderedDict(b=1, a=2),
        "\ud83d\ude00",
        "😀",
        "\\ud83d",
        {"\udcff": "\udcff"},
        Path(os.fsdecode(b"/data/caf\xe9")),
        Path(),
        Path("//two/slashes"),
        dt.time(2, 30, tzinfo=dt.timezone(dt.timedelta(seconds=-1)), fold=1),
        dt.datetime(2024, 5, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
        dt.timezone(-dt.timedelta(hours=9, microseconds=1)),
        dt.timezone(dt.timedelta(0), "GMT"),
        dt.timedelta.min,
        Box(Box([Size(1, 2)])),
    ],
    ids=lambda value: f"{value!r:.30}" if not isinstance(value, int) else "large int",
)
def test_a_corner_comes_back_exactly(value: object) -> None:
    assert is_same(there_and_back(value), value)


def test_an_integer_does_not_depend_on_a_setting_of_the_reader() -> None:
    encoded = codec.encode([10**600, 10**700])
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert codec.decode(encoded.text, pytest.fail) == [10**600, 10**700]
    finally:
        sys.set_int_max_str_digits(before)


def test_the_order_of_keys_is_kept() -> None:
    assert list(there_and_back({2: 0, "b": 1, "a": 2})) == [2, "b", "a"]


def test_a_nan_keeps_its_sign_and_payload_and_stands_for_itself() -> None:
    text = codec.encode(-math.nan).text
    assert text == '{"$float": "0xfff8000000000000"}'
    assert math.copysign(1, there_and_back(-math.nan)) == -1


def test_every_decoding_is_a_new_value() -> None:
    text = codec.encode({"a": [1], "b": {1}}).text
    one, other = codec.decode(text, pytest.fail), codec.decode(text, pytest.fail)
    assert one == other
    assert one is not other


def test_a_dataclass_is_made_without_its_own_code() -> None:
    odd = Odd(7)
    assert odd.total == 7  # Cached: worked out again, not kept.
    text = codec.encode(odd).text
    assert text.endswith(':Odd", "later": [7], "$unset": ["never"]}')
    again = there_and_back(odd)
    assert again.later == [7]
    assert not hasattr(again, "never")
    assert "total" not in vars(again)


def test_a_uuid_keeps_whether_it_was_made_safely() -> None:
    for safety in uuid.SafeUUID:
        assert there_and_back(uuid.UUID(int=5, is_safe=safety)).is_safe is safety


def test_attributes_of_an_ordered_dict_come_back() -> None:
    state: Any = OrderedDict(weight=1)
    state._metadata = OrderedDict({"": {"version": 1}})
    again = there_and_back(state)
    assert is_same(again, state)
    assert again._metadata == state._metadata


def test_a_value_nested_as_deep_as_allowed_comes_back() -> None:
    lists: list[Any] = []
    tuples: tuple[Any, ...] = ()
    for _ in range(codec.MAX_DEPTH):
        lists, tuples = [lists], (tuples,)
    assert there_and_back(lists) == lists
    assert there_and_back(tuples) == tuples


def test_an_object_in_two_places_comes_back_as_two() -> None:
    frame = Frame(1)
    one, other = there_and_back([frame, frame])
    assert one == other
    assert one is not other
