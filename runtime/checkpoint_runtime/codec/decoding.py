"""Text becomes a value."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from checkpoint_runtime.codec.attachments import suffix_of
from checkpoint_runtime.codec.kinds import READ
from checkpoint_runtime.codec.plain import parse, refuse_constant
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Reader

_UNFIT = (ValueError, TypeError, LookupError, ArithmeticError)
"""What Python raises where a part has a wrong type, form or number of parts."""


def decode(text: str, load: Callable[[str], bytes | memoryview]) -> object:
    """The value that :func:`encode` was given: a new one each time.

    :param load: gives the content of a side file by its name, and has verified it. It is asked
        only for names of our form. What it raises comes out as it is.
    :raises UnreadableValueError: no value can be made of it here.
    """
    reader = Reader(load)
    try:
        if '"$' not in text:
            plain: object = parse(text)
            return plain
        whole = _side_file_of(text)
        if whole is not None:
            text = reader.text(whole, "json")
        return _decode_tags(reader, text)
    except UnreadableValueError:
        raise
    except _UNFIT as error:
        if error is reader.load_error:
            raise
        what = f"{reader.tag} cannot be read" if reader.tag else "this is not JSON"
        raise UnreadableValueError(f"{what}: {error!s:.200}") from error
    except RecursionError as error:
        raise UnreadableValueError("the text is nested too deep") from error


def _side_file_of(text: str) -> object:
    """The name of the file that holds the whole text, or None."""
    if not text.startswith('{"$file"') or len(text) > 500:
        return None
    name = parse(text)["$file"]
    return name if suffix_of(name) == "json" else None


def _decode_tags(reader: Reader, text: str) -> object:
    decoder = json.JSONDecoder(
        # Called from the inside out: what a function gets has been made already.
        object_hook=partial(_made_of, reader),
        parse_constant=refuse_constant,
    )
    found: object = decoder.decode(text)
    return found


def _made_of(reader: Reader, body: dict[str, object]) -> object:
    tag = next(iter(body), "")
    if tag[:1] != "$":
        return body
    read = READ.get(tag)
    if read is None:
        raise UnreadableValueError(
            f"it holds a value of a kind {tag!r:.100} that this version does not know"
        )
    reader.tag = tag
    return read(reader, body)
