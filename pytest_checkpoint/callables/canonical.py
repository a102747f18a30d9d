"""What a function returned, as a text that is the same in every process for the same result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePath
from typing import Any, Final, cast

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


class NotCanonical(Exception):
    """There is no such text; says why, in a sentence."""


def canonical(value: object) -> str:
    """One line of JSON with sorted keys, where the value is made of what JSON knows.

    Tuples count as lists, sets as sorted lists, paths as strings; arrays and tensors as what their
    ``tolist()`` gives. Any other value: its ``repr``, within the JSON
    too. :class:`NotCanonical` for a ``repr`` that tells where in memory something lies.
    """
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: object) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return _pairs(cast("Mapping[object, object]", value))
    if isinstance(value, Set):
        return sorted(map(_plain, cast("Set[object]", value)), key=_sorting)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("Sequence[object]", value)]
    to_list = getattr(value, "tolist", None)
    if callable(to_list):
        return _plain(to_list())
    text = repr(value)
    if _ADDRESS.search(text):
        raise NotCanonical(
            f"it returned {text}, which is another text in every process: return the result as "
            "numbers, strings, lists and dicts"
        )
    return text


def _pairs(value: Mapping[object, object]) -> Any:
    """As an object; with keys that are no strings as a sorted list of pairs: 1 is not "1"."""
    if all(type(key) is str for key in value):
        return {str(key): _plain(one) for key, one in value.items()}
    return sorted(([_plain(key), _plain(one)] for key, one in value.items()), key=_sorting)


def _sorting(plain: object) -> str:
    return json.dumps(plain, sort_keys=True)
