"""Equal digests if and only if the values are the same."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings

from checkpoint_runtime import codec
from tests.runtime.values.exactness import there_and_back
from tests.runtime.values.strategies import VALUES


def digest(value: object) -> str:
    return codec.digest(codec.encode(value).text)


LONG = {str(number): "x" * 100 for number in range(4000)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}),
        ({1: 1, "y": {"a": 1, "b": 2}}, {"y": {"b": 2, "a": 1}, 1: 1}),
        ({1, 2, 3}, {3, 2, 1}),
        (LONG, dict(reversed(list(LONG.items())))),
    ],
    ids=["dict", "pairs", "set", "in a file"],
)
def test_the_order_of_a_dict_or_set_does_not_count(one: object, other: object) -> None:
    assert digest(one) == digest(other)


def test_everything_else_counts() -> None:
    values: list[Any] = [
        1,
        1.0,
        True,
        "1",
        None,
        b"1",
        bytearray(b"1"),
        0.0,
        -0.0,
        math.nan,
        -math.nan,
        [1],
        (1,),
        {1},
        frozenset([1]),
        {"1": 1},
        {1: 1},
        [],
        {},
        OrderedDict(),
        OrderedDict(a=1, b=2),
        OrderedDict(b=2, a=1),
        LONG,
        {**LONG, "0": "y"},
    ]
    assert len({digest(value) for value in values}) == len(values)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_it_is_that_of_the_value_that_comes_back(value: object) -> None:
    text = codec.encode(value).text
    assert digest(there_and_back(value)) == codec.digest(text)
    # However JSON was written again on the way.
    assert codec.digest(json.dumps(json.loads(text), indent=1)) == codec.digest(text)


def test_it_does_not_depend_on_the_process() -> None:
    value = {"tags": {f"tag {number}" for number in range(50)}}
    program = (
        "from checkpoint_runtime import codec; "
        "print(codec.encode({'tags': {f'tag {n}' for n in range(50)}}).text)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert out.rstrip("\n") == codec.encode(value).text


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"$file": "x", "digest": 3}', "[NaN]", '["$", NaN]']
)
def test_of_no_text_of_a_value_there_is_none(text: str) -> None:
    with pytest.raises(codec.UnreadableValueError, match="this is not the text of a value"):
        codec.digest(text)
