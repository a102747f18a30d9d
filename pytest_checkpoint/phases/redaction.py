"""Secrets of the environment are taken out of everything that is kept or shown."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Final

_SECRET_NAMES: Final = ("AWS_*", "*TOKEN*", "*SECRET*", "*PASSWORD*", "*KEY*")
_SHORTEST: Final = 4
"""Shorter values are no secrets, and would be found everywhere."""


class Redactor:
    """Replaces the values of secret variables by their names."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._names = {
            value: name
            for name, value in environment.items()
            if len(value) >= _SHORTEST
            and any(fnmatch.fnmatchcase(name.upper(), pattern) for pattern in _SECRET_NAMES)
        }
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        if not self._names:
            return text
        return self._pattern.sub(lambda found: f"[{self._names[found.group()]} redacted]", text)
