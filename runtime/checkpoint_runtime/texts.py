"""Words of others, an error's say, made fit to stand in our sentences."""

from __future__ import annotations

from typing import Final

SHOWN: Final = 300
"""How many characters of an error are shown; what is recorded of it is longer."""
RECORDED: Final = 2000


def words_of(error: BaseException) -> str:
    """The kind and the text of an exception, in one line that can be printed anywhere."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception as another:  # noqa: BLE001 - the stage's own code: it may raise anything
        text = f"(its text cannot be had: {type(another).__name__})"
    shown = printable(shortened(text, RECORDED))
    return f"{kind}: {shown}" if shown else kind


def printable(text: str) -> str:
    """Without control characters and lone surrogates: not every terminal or file takes them."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def shortened(text: str, length: int = SHOWN) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def told(error: str, item: str | None, where: str | None) -> str:
    """What failed, and where, as it is shown: ``embed[3]: ValueError: no words (film.py:33 in …)``.

    :param item: of a mapped stage; None: the stage itself.
    :param where: the line of the stage's code.
    """
    before = f"{item}: " if item else ""
    behind = f" ({where})" if where else ""
    return f"{before}{shortened(error)}{behind}"


def ended(text: str) -> str:
    """With a full stop, unless it has an end already."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
