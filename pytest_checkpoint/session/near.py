"""What somebody may have meant by a name that is none."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def meant(name: str, names: Collection[str]) -> str:
    """``; did you mean 'outputs'?``; empty if none of the names is like it."""
    near = get_close_matches(name, sorted(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
