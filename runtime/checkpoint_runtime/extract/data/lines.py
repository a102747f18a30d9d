"""Samples from JSON lines and from plain text, a line each, read one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from checkpoint_runtime.extract.data.raw import Raw
from checkpoint_runtime.extract.errors import ExtractInputError


def json_lines(path: Path, id_field: str, text_field: str) -> Iterator[Raw]:
    """A JSON object a line. A line without anything on it holds no sample."""
    for number, line in _lines(path):
        if line.strip():
            yield _from_json(line, f"{path}, line {number}", id_field, text_field)


def text_lines(path: Path) -> Iterator[Raw]:
    """A text a line. Its id is the number of the line, from 1: it stays as long as lines are only
    added at the end.
    """
    for number, line in _lines(path):
        yield Raw(str(number), line, f"{path}, line {number}")


def _from_json(line: str, where: str, id_field: str, text_field: str) -> Raw:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExtractInputError(f"{where}: this is not JSON: {error!s:.200}") from error
    if not isinstance(found, dict):
        raise ExtractInputError(
            f"{where}: a JSON object with {id_field!r} and {text_field!r} is expected, "
            f"not {line[:60]!r}"
        )
    for field, option in ((id_field, "--id-field"), (text_field, "--text-field")):
        if field not in found:
            there = ", ".join(map(repr, list(found)[:10])) or "nothing"
            raise ExtractInputError(
                f"{where}: there is no field {field!r}, only {there}: name it with {option}"
            )
    return Raw(found[id_field], found[text_field], where)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each with its number from 1, without its end."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ExtractInputError(
                    f"{path}, line {number}: this is not UTF-8: {error.reason} at byte "
                    f"{error.start} of the line"
                ) from error
            yield number, text.rstrip("\r\n")
