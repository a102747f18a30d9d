"""Which values a stage may return, and how they are written down.

A value is kept only if reading it back gives an equal value of the same types. JSON itself is more
lax: it turns tuples into lists and numbers that are keys into text, and Python's writes NaN that is
not JSON. All of these are refused, at the place where they stand, rather than mangled.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping

from checkpoint_runtime.errors import StageValueError

KEPT_TYPES = frozenset({dict, list, str, int, float, bool, type(None)})
MAX_DEPTH = 100
"""How deep lists and dicts may be nested: a value that contains itself ends here, too."""


def encode(value: object, stage: str) -> str:
    """The value as one line of JSON, keys in their own order.

    :raises StageValueError: it is not JSON that reads back unchanged; names stage, place and type.
    """
    _refuse_what_json_would_change(value, stage)
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), allow_nan=False)


def decode(text: str) -> object:
    """The value that :func:`encode` was given: a new one each time."""
    value: object = json.loads(text)
    return value


def digest(texts: Mapping[str, str]) -> str:
    """SHA-256 of the canonical JSON of all these encoded values, by their names."""
    values = {name: json.loads(text) for name, text in texts.items()}
    canonical = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _refuse_what_json_would_change(value: object, stage: str) -> None:
    pending: list[tuple[str, int, object]] = [("value", 0, value)]
    while pending:
        where, depth, item = pending.pop()
        problem = _problem_of(item)
        if problem is None and depth > MAX_DEPTH:
            problem = f"is nested more than {MAX_DEPTH} levels deep, or contains itself"
        if problem is not None:
            # A place that is nested deep is a long text: its end is the part that helps.
            raise StageValueError(stage, where if len(where) < 200 else f"…{where[-200:]}", problem)
        pending.extend((place, depth + 1, inner) for place, inner in _parts(item, where))


def _problem_of(item: object) -> str | None:
    # Exact types: a subclass (an enum, a named tuple, numpy's float64) reads back as its base.
    kind = type(item)
    if kind not in KEPT_TYPES:
        return f"is of type {kind.__name__}"
    if isinstance(item, str):
        return _problem_of_text(item)
    if isinstance(item, float):
        return None if math.isfinite(item) else f"is {item}, which JSON does not have"
    if isinstance(item, int):
        return _problem_of_integer(item)
    if isinstance(item, dict):
        return _problem_of_keys(item)
    return None


def _problem_of_text(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is text with a lone surrogate, which is not Unicode"
    return None


def _problem_of_integer(number: int) -> str | None:
    try:
        str(number)
    except ValueError:  # sys.set_int_max_str_digits()
        return f"is an integer of {number.bit_length()} bits, more than Python converts to text"
    return None


def _problem_of_keys(mapping: dict[object, object]) -> str | None:
    for key in mapping:
        if type(key) is not str:
            return f"has the key {key!r} of type {type(key).__name__}"
        problem = _problem_of_text(key)
        if problem is not None:
            return f"has a key that {problem}"
    return None


def _parts(item: object, where: str) -> Iterator[tuple[str, object]]:
    if isinstance(item, dict):
        for key, inner in item.items():
            yield f"{where}[{key!r}]", inner
    elif isinstance(item, list):
        for index, inner in enumerate(item):
            yield f"{where}[{index}]", inner
