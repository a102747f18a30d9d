"""The short way for values that are JSON as they are: most are, and these must cost little more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from checkpoint_runtime.codec.attachments import in_json, in_json_later
from checkpoint_runtime.codec.numbers import PLAIN_INTEGERS_BELOW
from checkpoint_runtime.codec.places import MAX_DEPTH
from checkpoint_runtime.codec.texts import SURELY_INLINE, is_unicode

_SURE = frozenset({bool, float, type(None)})


def refuse_constant(name: str) -> NoReturn:
    """What Python reads and JSON does not have: NaN, Infinity.

    :raises ValueError: always.
    """
    raise ValueError(f"{name} is not JSON")


def _encoder(attachment: Callable[[object], str]) -> json.JSONEncoder:
    # No search for cycles: _are_plain() ends at a depth.
    return json.JSONEncoder(
        ensure_ascii=False,
        check_circular=False,
        allow_nan=False,
        separators=(", ", ": "),
        default=attachment,
    )


_ENCODER, _DRAFTING = _encoder(in_json), _encoder(in_json_later)
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def plain_text(value: object) -> str | None:
    """One line of JSON; None if that would not give back the very same value."""
    if not _are_plain((value,), 0):
        return None
    try:
        text = _ENCODER.encode(value)
    except ValueError:  # NaN or an infinity.
        return None
    return text if is_unicode(text) else None


def text_of(tree: object) -> str:
    """One line of JSON, of what the functions of the kinds returned."""
    return _ENCODER.encode(tree)


def draft_of(tree: object) -> str:
    """A text of the same length, for which nothing has to be known of the attachments' content."""
    return _DRAFTING.encode(tree)


def parse(text: str) -> Any:
    """
    :raises ValueError: it is not JSON, or holds NaN or a too long integer.
    :raises RecursionError: it is nested too deep.
    """
    return _DECODER.decode(text)


def _are_plain(parts: Iterable[Any], depth: int) -> bool:
    for part in parts:
        kind = type(part)
        if kind is str:
            if len(part) > SURELY_INLINE:
                return False
        elif kind is int:
            if not -PLAIN_INTEGERS_BELOW < part < PLAIN_INTEGERS_BELOW:
                return False
        elif kind is dict or kind is list:
            inner = part
            if kind is dict:
                for key in part:
                    if type(key) is not str or key[:1] == "$":
                        return False
                inner = part.values()
            if depth >= MAX_DEPTH or not _are_plain(inner, depth + 1):
                return False
        elif kind not in _SURE:
            return False
    return True
