"""Subjects that stand in the rootdir's pyproject.toml: where they are, and what is wrong with it.

What is in one of these tables is read by :mod:`pytest_checkpoint.session.tables`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.command_line import EXPLORATION
from pytest_checkpoint.session.registration import KNOWN_CAPABILITIES, validated
from pytest_checkpoint.session.tables import command_subject, unknown_key
from pytest_checkpoint.subject import Subject

FILE: Final = "pyproject.toml"
_TOOL: Final = "checkpoint-contracts"
_SUBJECTS: Final = "subjects"
_PLACE: Final = ("tool", _TOOL, _SUBJECTS)


@dataclass(frozen=True, slots=True)
class Table:
    """``[tool.checkpoint-contracts.subjects.NAME]``, not yet validated."""

    name: str
    content: object
    path: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def subject(
        self,
        working_directory: Path,
        ids: Collection[str],
        known: Collection[str] = KNOWN_CAPABILITIES,
    ) -> Subject:
        """Raises UserError. ``ids``: the contracts that exist; ``known``: what they may need."""
        who = f"[{header(self.name)}] ({self.place})"
        return validated(
            command_subject(who, self.content),
            name=self.name,
            who=who,
            working_directory=working_directory,
            ids=ids,
            known=known,
            defined_at=(self.path, self.line),
        )


def read_tables(rootdir: Path) -> list[Table]:
    """The subjects of the rootdir's pyproject.toml, in its order. Raises UserError."""
    path = rootdir / FILE
    text = _text(path)
    if text is None:
        return []
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(
            f"{path} is no TOML, and it may name subjects: {error}; mend it first"
        ) from None
    subjects = _subjects(path, document)
    headers = _headers(text)
    return [Table(name, content, path, _line(headers, name)) for name, content in subjects.items()]


def header(name: str) -> str:
    """The name of a subject's table, as TOML wants it."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
    return ".".join((*_PLACE, name if bare else json.dumps(name, ensure_ascii=False)))


def _text(path: Path) -> str | None:
    """None if there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}, which may name subjects, cannot be read: {error}; mend it first"
        ) from None


def _subjects(path: Path, document: Mapping[str, object]) -> Mapping[str, object]:
    tools = document.get("tool", {})
    if not isinstance(tools, Mapping):
        return {}
    if _TOOL not in tools:
        # As close as checkpoint_contracts: it would be left aside without a word.
        for near in get_close_matches(_TOOL, tools, 1, cutoff=0.9):
            raise UserError(f"{path}: [tool.{near}] is not read: its name is [tool.{_TOOL}]")
        return {}
    own = tools[_TOOL]
    where = f"{path}: [tool.{_TOOL}]"
    if not isinstance(own, Mapping):
        raise UserError(f"{where} must be a table, not {own!r}")
    for key in own:
        if key != _SUBJECTS:
            raise UserError(_stranger(where, key))
    subjects = own.get(_SUBJECTS, {})
    if not isinstance(subjects, Mapping):
        raise UserError(
            f"{path}: {_SUBJECTS} must hold a table for each subject, as in "
            f"[{header('etl')}], and is {subjects!r}"
        )
    return subjects


def _stranger(where: str, key: str) -> str:
    options = {flag.key: flag.key for flag in EXPLORATION}
    options |= {flag.key.removeprefix("checkpoint_"): flag.key for flag in EXPLORATION}
    option = options.get(key.replace("-", "_"))
    if option is not None:
        return (
            f"{where}: {key!r} is an option, which is none of a subject: write it as {option} "
            "where pytest is configured, in [tool.pytest.ini_options] say"
        )
    return unknown_key(where, key, (_SUBJECTS,))


def _headers(text: str) -> list[tuple[tuple[str, ...], int]]:
    """The names in each table's header, and its line.

    Only for messages: a line within a text of several lines may look like one, too.
    """
    found: list[tuple[tuple[str, ...], int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("[") and _TOOL in line:
            try:
                found.append((_names(tomllib.loads(line)), number))
            except tomllib.TOMLDecodeError:
                continue
    return found


def _names(document: object) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(document, Mapping) and document:
        name, document = next(iter(document.items()))
        names.append(name)
    return tuple(names)


def _line(headers: Sequence[tuple[tuple[str, ...], int]], name: str) -> int:
    """Of its own header, or of its first part's; else of that of the table around it."""
    own = (*_PLACE, name)
    for names, line in headers:
        if names[: len(own)] == own:
            return line
    return next((line for names, line in reversed(headers) if names == own[: len(names)]), 1)
