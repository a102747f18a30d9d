"""Evidence as JSON and back, so that what is kept on disk can be judged again.

The text is an object of two members: ``format``, a number, and ``evidence``. Dataclasses become
objects by the names of their fields, sets become sorted lists. A member that is missing takes the
field's default; one that is not known is refused, since something unread might matter.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from checkpoint_contracts.evidence import Evidence

FORMAT: Final = 1
_Part = TypeVar("_Part")


class ArchiveError(ValueError):
    """Kept evidence that cannot be read; its text says what is wrong."""


def dump(evidence: Evidence) -> str:
    """The serial form of evidence; :func:`load` gives back an equal value."""
    return json.dumps({"format": FORMAT, "evidence": _plain(evidence)}, indent=1, sort_keys=True)


def load(text: str) -> Evidence:
    """Evidence from its serial form.

    Raises :class:`ArchiveError`, with a sentence, for anything else.
    """
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"the kept evidence is not JSON: {error}") from error
    if not isinstance(kept, dict) or "evidence" not in kept:
        raise ArchiveError("this is no kept evidence: it has no member 'evidence'")
    if kept.get("format") != FORMAT:
        raise ArchiveError(
            f"the kept evidence has format {kept.get('format')!r}; this version reads {FORMAT}: "
            "examine the subject again"
        )
    evidence = _typed(Evidence, kept["evidence"], "evidence")
    assert isinstance(evidence, Evidence)
    return evidence


def plain(part: object) -> object:
    """A piece of evidence as JSON has it: for keeping it before all of it is there."""
    return _plain(part)


def typed(kind: type[_Part], part: object) -> _Part:
    """A value of the dataclass ``kind`` from what :func:`plain` made of it.

    Raises :class:`ArchiveError`, with a sentence, for anything else.
    """
    value = _typed(kind, part, kind.__name__)
    assert isinstance(value, kind)
    return value


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted((_plain(item) for item in value), key=str)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _typed(kind: Any, value: object, where: str) -> object:
    """``value``, as it came from JSON, as a value of the type that a field is annotated with."""
    if typing.get_origin(kind) is not None:
        return _generic(kind, value, where)
    if dataclasses.is_dataclass(kind):
        return _record(kind, _expect(dict, value, where), where)
    if issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError as error:
            raise ArchiveError(f"the kept evidence is damaged: {where}: {error}") from error
    if kind is float and type(value) is int:
        return float(value)
    return _expect(kind, value, where)


def _generic(kind: Any, value: object, where: str) -> object:
    """A value of ``X | None``, ``tuple[X, ...]``, ``frozenset[X]`` or ``Mapping[K, X]``."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        wanted = next(argument for argument in arguments if argument is not types.NoneType)
        return None if value is None else _typed(wanted, value, where)
    if origin is Mapping:
        return {
            _typed(arguments[0], key, where): _typed(arguments[1], item, f"{where}.{key}")
            for key, item in _expect(dict, value, where).items()
        }
    container: type[tuple[object, ...]] | type[frozenset[object]] = (
        tuple if origin is tuple else frozenset
    )
    return container(
        _typed(arguments[0], item, f"{where}[{index}]")
        for index, item in enumerate(_expect(list, value, where))
    )


def _record(kind: Any, members: dict[str, object], where: str) -> object:
    hints = _hints(kind)
    unknown = members.keys() - hints.keys()
    if unknown:
        raise ArchiveError(
            f"the kept evidence is damaged or newer: {where} has {', '.join(sorted(unknown))}"
        )
    values = {name: _typed(hints[name], item, f"{where}.{name}") for name, item in members.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ArchiveError(f"the kept evidence is damaged: {where}: {error}") from error


@functools.cache
def _hints(kind: Any) -> Mapping[str, Any]:
    """Field → its type. Looked up once: there are thousands of records of a few kinds."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _expect(kind: type[Any], value: object, where: str) -> Any:
    if type(value) is not kind:
        raise ArchiveError(
            f"the kept evidence is damaged: {where} is {type(value).__name__}, not {kind.__name__}"
        )
    return value
