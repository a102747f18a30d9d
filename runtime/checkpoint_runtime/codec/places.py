"""Places within a value, for people: ``value['frames'][2].mask``.

While a value is walked only the steps are kept; a place is spelt out when a sentence needs it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

MAX_DEPTH = 100
"""How deep values may be nested. One that contains itself ends here, too."""

_SPELT_TYPES = frozenset({str, int, bool, float, bytes, type(None)})
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Field:
    """A step to what stands in a field of a dataclass or a named tuple."""

    name: str


class Aside(enum.Enum):
    """A step to what has no subscript of its own."""

    KEY = " (a key)"
    ELEMENT = " (an element)"
    ATTRIBUTES = ".__dict__"


def place(steps: Sequence[object]) -> str:
    """The place that these steps lead to. Only the end of a long one: that part helps."""
    text = "value" + "".join(map(_spelt, steps))
    return text if len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"


def _spelt(step: object) -> str:
    if isinstance(step, Field):
        return f".{step.name}"
    if isinstance(step, Aside):
        return step.value
    # No repr() of anything else: it could be long, or raise, as that of a huge integer does.
    if type(step) not in _SPELT_TYPES or (isinstance(step, int) and step.bit_length() > 200):
        return f"[a key of type {type(step).__name__}]"
    if isinstance(step, str | bytes) and len(step) > 100:
        return f"[{step[:100]!r}…]"
    return f"[{step!r}]"
