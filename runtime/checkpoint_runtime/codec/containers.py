"""Containers. A dict with plain text keys stands as a JSON object, any other as pairs."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from checkpoint_runtime.codec.attachments import in_json
from checkpoint_runtime.codec.places import Aside
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.texts import is_unicode
from checkpoint_runtime.codec.writer import Writer

_CANONICAL = json.JSONEncoder(
    sort_keys=True, check_circular=False, separators=(",", ":"), default=in_json
)


def write_list(writer: Writer, value: list[object]) -> list[object]:
    within = writer.within
    return [within(index, item) for index, item in enumerate(value)]


def write_tuple(writer: Writer, value: tuple[object, ...]) -> object:
    return {"$tuple": write_list(writer, list(value))}


def read_tuple(reader: Reader, body: Body) -> tuple[object, ...]:
    return tuple(expect(list, body["$tuple"], "$tuple"))


def write_dict(writer: Writer, value: dict[object, object]) -> object:
    # A key that looks like a tag is written as a pair, so that it is not taken for one.
    if all(type(key) is str and key[:1] != "$" and is_unicode(key) for key in value):
        return {key: writer.within(key, inner) for key, inner in value.items()}
    return {"$dict": _pairs(writer, value)}


def read_dict(reader: Reader, body: Body) -> dict[object, object]:
    return _from_pairs(body["$dict"], {}, "$dict")


def write_ordered_dict(writer: Writer, value: OrderedDict[object, object]) -> object:
    node: dict[str, object] = {"$ordereddict": _pairs(writer, value)}
    # A state_dict() of torch has attributes: the versions of its parts.
    if vars(value):
        node["attributes"] = writer.within(Aside.ATTRIBUTES, vars(value))
    return node


def read_ordered_dict(reader: Reader, body: Body) -> OrderedDict[object, object]:
    ordered: OrderedDict[object, object] = OrderedDict()
    _from_pairs(body["$ordereddict"], ordered, "$ordereddict")
    vars(ordered).update(expect(dict, body.get("attributes", {}), "attributes"))
    return ordered


def _pairs(writer: Writer, value: dict[object, object]) -> list[list[object]]:
    return [
        [writer.within(Aside.KEY, key), writer.within(key, inner)] for key, inner in value.items()
    ]


def _from_pairs(pairs: object, into: dict[object, object], tag: str) -> dict[object, object]:
    found = expect(list, pairs, tag)
    for pair in found:
        key, value = expect(list, pair, tag)
        _hashing(tag, partial(into.__setitem__, key, value))
    if len(into) != len(found):
        raise UnreadableValueError(f"{tag} has equal keys")
    return into


def write_set(writer: Writer, value: Iterable[object]) -> object:
    return {"$set": _elements(writer, value)}


def read_set(reader: Reader, body: Body) -> set[object]:
    return set(_distinct(body["$set"], "$set"))


def write_frozenset(writer: Writer, value: Iterable[object]) -> object:
    return {"$frozenset": _elements(writer, value)}


def read_frozenset(reader: Reader, body: Body) -> frozenset[object]:
    return _distinct(body["$frozenset"], "$frozenset")


def _elements(writer: Writer, value: Iterable[object]) -> list[object]:
    # The order of a set differs between processes; that of its text must not.
    return sorted((writer.within(Aside.ELEMENT, item) for item in value), key=canonical)


def canonical(tree: object) -> str:
    """JSON that does not depend on the order of keys."""
    return _CANONICAL.encode(tree)


def _distinct(elements: object, tag: str) -> frozenset[object]:
    found = expect(list, elements, tag)
    distinct: frozenset[object] = _hashing(tag, lambda: frozenset(found))
    if len(distinct) != len(found):
        raise UnreadableValueError(f"{tag} has equal elements")
    return distinct


def _hashing(tag: str, action: Callable[[], Any]) -> Any:
    # A dataclass can have a __hash__ and an __eq__ of its own, and these can raise anything.
    try:
        return action()
    except Exception as error:
        raise UnreadableValueError(f"{tag} holds what cannot be hashed: {error!r:.200}") from error
