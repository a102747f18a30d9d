"""Values come back as they were, or are refused with their place and type."""

from __future__ import annotations

import enum
import json
import math
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_runtime import StageValueError, values

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.IntEnum):
    RED = 1


def exact(value: object) -> str:
    """Tells apart what == does not: 1 and 1.0 and True, 0.0 and -0.0, and the order of keys."""
    return repr(value)


@given(JSON_VALUES)
def test_a_kept_value_reads_back_exactly_and_stands_on_one_line(value: object) -> None:
    text = values.encode(value, "stage")
    assert exact(values.decode(text)) == exact(value)
    assert b"\n" not in text.encode()


def test_every_decoding_is_a_new_value() -> None:
    text = values.encode([1], "stage")
    assert values.decode(text) is not values.decode(text)


def test_a_large_integer_is_kept() -> None:
    assert values.decode(values.encode(2**4096, "stage")) == 2**4096


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ((1, 2), "value is of type tuple"),
        ({"a": [0, (1,)]}, "value['a'][1] is of type tuple"),
        ({"a": {1: 2}}, "value['a'] has the key 1 of type int"),
        ({None: 2}, "value has the key None of type NoneType"),
        (b"bytes", "value is of type bytes"),
        ({1}, "value is of type set"),
        (Point(1, 2), "value is of type Point"),
        ([Colour.RED], "value[0] is of type Colour"),
        (math.nan, "value is nan, which JSON does not have"),
        ([1.0, -math.inf], "value[1] is -inf, which JSON does not have"),
        ("\ud800", "value is text with a lone surrogate"),
        ({"\ud800": 1}, "value has a key that is text with a lone surrogate"),
        (object, "value is of type type"),
    ],
)
def test_what_json_would_change_is_refused_with_place_and_type(
    value: object, sentence: str
) -> None:
    with pytest.raises(StageValueError) as caught:
        values.encode(value, "render")
    assert str(caught.value).startswith(
        f"stage 'render' returned a value that cannot be kept: {sentence}"
    )
    assert caught.value.stage == "render"


def test_an_integer_beyond_pythons_limit_is_refused() -> None:
    with pytest.raises(StageValueError, match="value is an integer of 16610 bits, more than Pyth"):
        values.encode(10**5000, "render")


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(StageValueError, match="more than 100 levels deep, or contains itself"):
        values.encode(value, "render")


def test_a_value_nested_as_deep_as_allowed_is_kept() -> None:
    value: list[Any] = []
    for _ in range(values.MAX_DEPTH):
        value = [value]
    assert values.decode(values.encode(value, "render")) == value


def test_the_digest_does_not_depend_on_the_order_of_keys_but_on_types() -> None:
    def digest(value: object) -> str:
        return values.digest({"a": json.dumps(value)})

    assert digest({"x": 1, "y": 2}) == digest({"y": 2, "x": 1})
    assert len({digest(1), digest(1.0), digest(True), digest("1"), digest(None)}) == 5
