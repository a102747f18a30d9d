"""Durations, sizes, counts and shares as users write them. Each raises UserError, a sentence."""

from __future__ import annotations

import math
import re

from pytest_checkpoint.errors import UserError

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)


def seconds(option: str, text: str) -> float:
    """``90``, ``90s``, ``2m``, ``1.5h`` → seconds, more than 0."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = _SECONDS.get(match[2].lower()) if match else None
    value = float(match[1]) * factor if match and factor is not None else 0.0
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{option} {text!r} is no duration: write seconds above 0, as in 90 or 2m")
    return value


def size_bytes(option: str, text: str) -> int:
    """``1GiB``, ``500MB``, ``0`` → bytes."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = _BYTES.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise UserError(
            f"{option} {text!r} is no size: write bytes or a unit, as in 1GiB, 500MB or 0"
        )
    return int(float(match[1]) * factor)


def count(option: str, text: str, *, least: int) -> int:
    """A whole number, ``least`` or more."""
    if not re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII) or int(text) < least:
        raise UserError(f"{option} {text!r} is not a whole number of {least} or more")
    return int(text)


def share(option: str, text: str) -> float:
    """``0.9`` or ``90%`` → 0.9; above 0, at most 1."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text, re.ASCII)
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value <= 1:
        raise UserError(f"{option} {text!r} is no share of a run: write 0.9 or 90%, at most 1")
    return value
