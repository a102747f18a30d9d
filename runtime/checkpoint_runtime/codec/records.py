"""Dataclasses, named tuples and enum members: by the name of their class, and of what is in them.

None of a class's own code runs when one is made: no ``__init__``, no ``__post_init__``, no
``__setattr__``. What is not a field would be lost, so an object that has more is refused.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from functools import cached_property
from types import BuiltinFunctionType, MemberDescriptorType
from typing import Any

from checkpoint_runtime.codec.classes import find, name_of
from checkpoint_runtime.codec.places import Field
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.texts import write_str
from checkpoint_runtime.codec.writer import Writer

_UNSET = object()


def is_dataclass(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind)


def is_enum(kind: Any) -> bool:
    return isinstance(kind, enum.EnumType)


def is_named_tuple(kind: Any) -> bool:
    fields = getattr(kind, "_fields", None)
    return issubclass(kind, tuple) and type(fields) is tuple and _maker(kind) is tuple


def write_dataclass(writer: Writer, value: Any) -> object:
    kind = type(value)
    maker = _maker(kind)
    if maker is not object:
        writer.refuse(f"is a dataclass derived from {maker.__name__}, whose content is no field")
    node: dict[str, object] = {"$dataclass": name_of(writer, kind)}
    stored = _stored(value)
    unset = []
    for field in dataclasses.fields(value):
        part = stored.pop(field.name, _UNSET)
        if part is not _UNSET:
            node[field.name] = writer.within(Field(field.name), part)
        elif _slot(kind, field.name) is None and hasattr(_attribute(kind, field.name), "__set__"):
            writer.refuse(f"keeps its field {field.name!r} in a descriptor")
        else:
            unset.append(field.name)
    if unset:
        node["$unset"] = unset
    for name in stored:
        # A cached property is worked out again.
        if not isinstance(_attribute(kind, name), cached_property):
            writer.refuse(f"is a {kind.__name__} with an attribute {name!r} that is no field")
    return node


def read_dataclass(reader: Reader, body: Body) -> object:
    name = expect(str, body["$dataclass"], "$dataclass")
    kind = find(name, is_dataclass, "dataclass")
    if _maker(kind) is not object or getattr(kind, "__abstractmethods__", None):
        raise UnreadableValueError(f"of the class {name} no object can be made any more")
    given = {key: part for key, part in body.items() if key[:1] != "$"}
    unset = expect(list, body.get("$unset", []), "$unset")
    fields = {field.name for field in dataclasses.fields(kind)}
    for missing in fields.difference(given, unset):
        raise UnreadableValueError(f"the class {name} has a field {missing!r} that is not kept")
    made: object = object.__new__(kind)
    for field_name, part in given.items():
        if field_name not in fields:
            raise UnreadableValueError(f"the class {name} has no field {field_name!r} any more")
        slot = _slot(kind, field_name)
        if slot is not None:
            slot.__set__(made, part)
        else:
            _instance_dict(made, name)[field_name] = part
    return made


def write_named_tuple(writer: Writer, value: Any) -> object:
    kind = type(value)
    if _stored(value):
        writer.refuse(f"is a {kind.__name__} with attributes that are no fields")
    if len(value) != len(kind._fields):
        writer.refuse(f"is a {kind.__name__} with more or fewer parts than fields")
    node: dict[str, object] = {"$namedtuple": name_of(writer, kind)}
    for name, part in zip(kind._fields, tuple.__iter__(value), strict=True):
        node[name] = writer.within(Field(name), part)
    return node


def read_named_tuple(reader: Reader, body: Body) -> object:
    name = expect(str, body["$namedtuple"], "$namedtuple")
    kind = find(
        name, lambda found: issubclass(found, tuple) and is_named_tuple(found), "NamedTuple"
    )
    given = {key: part for key, part in body.items() if key[:1] != "$"}
    if given.keys() != set(kind._fields):
        wrong = sorted(map(repr, given.keys() ^ set(kind._fields)))
        raise UnreadableValueError(f"the class {name} has other fields now: {', '.join(wrong)}")
    made: object = tuple.__new__(kind, [given[field] for field in kind._fields])
    return made


def write_enum(writer: Writer, value: Any) -> object:
    kind = type(value)
    member = kind._member_map_.get(value._name_)
    if member is not value:
        writer.refuse(f"is a {kind.__name__} that is no single member: {value!r:.100}")
    return {"$enum": name_of(writer, kind), "name": write_str(writer, value._name_)}


def read_enum(reader: Reader, body: Body) -> object:
    name = expect(str, body["$enum"], "$enum")
    kind = find(name, is_enum, "enum")
    member = expect(str, body["name"], "$enum")
    if member not in kind._member_map_:
        raise UnreadableValueError(f"the enum {name} has no member {member!r} any more")
    found: object = kind._member_map_[member]
    return found


def _maker(kind: type) -> type:
    """The base in C that makes the objects of a class: object, unless it holds something itself."""
    for base in kind.__mro__:
        if isinstance(vars(base).get("__new__"), BuiltinFunctionType):
            return base
    return object


def _stored(value: Any) -> dict[str, object]:
    """Everything that an object holds, in its dict and in its slots."""
    found: dict[str, object] = dict(_instance_dict(value, None))
    for name, slot in _slots(type(value)):
        part = _read_slot(slot, value)
        if part is not _UNSET:
            found[name] = part
    return found


def _instance_dict(value: object, class_name: str | None) -> Any:
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        if class_name is None:
            return {}
        raise UnreadableValueError(
            f"the class {class_name} has slots, and none for every field"
        ) from None


def _slots(kind: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType):
                yield name, member


def _slot(kind: type, name: str) -> MemberDescriptorType | None:
    found = _attribute(kind, name)
    return found if isinstance(found, MemberDescriptorType) else None


def _attribute(kind: type, name: str) -> object:
    """What stands under a name in a class, unbound."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _read_slot(slot: MemberDescriptorType, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:
        return _UNSET
