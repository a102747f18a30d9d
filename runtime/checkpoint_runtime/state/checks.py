"""What a part of a record must be; each raises TypeError, which makes the record damaged."""

from __future__ import annotations

from typing import Any


def name_in(value: Any) -> str:
    if type(value) is not str or not value:
        raise TypeError(f"{value!r} is not a name")
    return value


def text_in(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is not text")
    return value


def list_in(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError(f"{value!r} is not a list")
    return value


def count_in(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is not a count")
    return value
