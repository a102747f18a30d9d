"""Text as wide as people read it."""

from __future__ import annotations

import textwrap
from typing import Final

_WIDTH: Final = 100


def wrapped(text: str, *, first: str = "", rest: str = "") -> str:
    """One paragraph; ``first`` and ``rest`` stand before its lines. Options are not broken."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
