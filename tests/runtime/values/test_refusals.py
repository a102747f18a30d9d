"""What could not come back exactly is refused, with its place and the reason."""

from __future__ import annotations

import datetime as dt
import enum
import io
import threading
import zoneinfo
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any

import pytest

from checkpoint_runtime import codec
from tests.runtime.values.sample_classes import (
    Described,
    Frame,
    LooseTuple,
    Mapping,
    MoreThanFields,
    Point,
    Rights,
    Size,
    Text,
)


class OwnZone(dt.tzinfo):
    def utcoffset(self, moment: object) -> None: ...
    def dst(self, moment: object) -> None: ...
    def tzname(self, moment: object) -> None: ...


class OwnInteger(int):
    pass


@dataclass
class Moved:
    x: int


Moved.__qualname__ = "Elsewhere"


def with_attribute() -> Frame:
    frame = Frame(1)
    vars(frame)["note"] = "x"
    return frame


def with_slot() -> Any:
    value: Any = MoreThanFields(1)
    value.extra = 2
    return value


def loose_tuple() -> Any:
    value: Any = LooseTuple(1)
    value.note = "x"
    return value


def made_within() -> object:
    @dataclass
    class Local:
        x: int

    return Local(1)


def made_nowhere() -> object:
    class Made(enum.Enum):
        A = 1

    Made.__module__, Made.__qualname__ = "nowhere", "Made"
    return Made.A


def deep(wrap: Any) -> Any:
    value: Any = None
    for _ in range(codec.MAX_DEPTH + 1):
        value = wrap(value)
    return value


def containing_itself() -> list[Any]:
    value: list[Any] = []
    value.extend([value, (value, value)])
    return value


LOCK = threading.Lock()
HERE = "tests.runtime.values"
DEEP = "is nested more than 100 levels deep, or contains itself"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (LOCK, "value is of type lock"),
        ({"frames": [1, 2, LOCK]}, "value['frames'][2] is of type lock"),
        ({3: {None: io.StringIO()}}, "value[3][None] is of type StringIO"),
        (Frame(1, mask=(LOCK,)), "value.mask[0] is of type lock"),
        ([Point(1, LOCK)], "value[0].y is of type lock"),
        ({"tags": {object}}, "value['tags'] (an element) is of type type"),
        ({(1, object): 2}, "value (a key)[1] is of type type"),
        ({Size(1, 2): LOCK}, "value[a key of type Size] is of type lock"),
        ({10**5000: LOCK}, "value[a key of type int] is of type lock"),
        (OwnInteger(3), "value is of type OwnInteger, and would come back as its base int"),
        ([Text("x")], "value[0] is of type Text, and would come back as its base str"),
        (Counter("a"), "value is of type Counter, and would come back as its base dict"),
        (
            Rights.READ | Rights.WRITE,
            "value is a Rights that is no single member: <Rights.READ|WRITE: 3>",
        ),
        (dt.time(tzinfo=OwnZone()), "value has a time zone of type OwnZone: use zoneinfo or"),
        (with_attribute(), "value is a Frame with an attribute 'note' that is no field"),
        (with_slot(), "value is a MoreThanFields with an attribute 'extra' that is no field"),
        (loose_tuple(), "value is a LooseTuple with attributes that are no fields"),
        (Mapping(), "value is a dataclass derived from dict, whose content is no field"),
        (Described(1), "value keeps its field 'x' in a descriptor"),
        (Moved(1), f"value is of a class that is not to be found as {HERE}.test_refusals:Elsew"),
        (
            made_within(),
            "test_refusals:made_within.<locals>.Local, which is made within a function: move it to",
        ),
        (made_nowhere(), "value is of a class that is not to be found as nowhere:Made"),
        (deep(lambda inner: [inner]), DEEP),
        (deep(lambda inner: (inner,)), DEEP),
        (deep(lambda inner: {"a": inner}), DEEP),
        (deep(lambda inner: {1: inner}), DEEP),
        (deep(lambda inner: Frame(1, inner)), DEEP),
        (containing_itself(), DEEP),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_it_is_refused_with_place_and_reason(value: object, sentence: str) -> None:
    with pytest.raises(codec.ValueProblem) as caught:
        codec.encode(value)
    assert sentence in str(caught.value)
    assert str(caught.value) == f"{caught.value.where} {caught.value.problem}"
    assert caught.value.where.startswith(("value", "…"))
    assert len(caught.value.where) <= 201


def test_a_zone_made_from_a_file_is_refused() -> None:
    with open(f"{zoneinfo.TZPATH[0]}/Europe/Berlin", "rb") as file:
        zone = zoneinfo.ZoneInfo.from_file(file)
    with pytest.raises(codec.ValueProblem, match="has a ZoneInfo without a key, made from a file"):
        codec.encode(dt.datetime(2024, 5, 1, tzinfo=zone))


def test_a_caller_deep_in_a_recursion_gets_a_sentence() -> None:
    value = OrderedDict(a=deep(lambda inner: [inner])[0])

    def descend() -> str:
        try:
            return descend()
        except RecursionError:
            with pytest.raises(codec.ValueProblem) as caught:
                codec.encode(value)
        return str(caught.value)

    assert descend() == "value is nested too deep for this thread (100 levels are the limit)"
