"""Operations and images as JSON lines, their bytes in one data file beside them.

Every effect is a list: its class name, then its fields in order. Byte strings are written as
Latin-1 text, so that ordinary names stay readable and any byte comes back; the data of a write is
``[offset, length]`` in the data file.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii
from types import MappingProxyType
from typing import Any, BinaryIO, Final, TypeAlias

from pytest_checkpoint.record import operations
from pytest_checkpoint.record.operations import Effect, NodeKind, Operation, Origin, SetTime, Write
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import (
    Directory,
    File,
    Image,
    Node,
    NodeId,
    Special,
    Symlink,
)

Json = Any
"""A value that ``json`` reads and writes."""

_EFFECTS: Final[Mapping[str, type[Effect]]] = {
    kind.__name__: kind
    for kind in (
        operations.Create,
        operations.CreateUnnamed,
        operations.Write,
        operations.Truncate,
        operations.Allocate,
        operations.Link,
        operations.Unlink,
        operations.Rename,
        operations.SetMode,
        operations.SetOwner,
        operations.SetTime,
        operations.SetAttribute,
        operations.Sync,
        operations.MapShared,
        operations.Event,
        operations.Sent,
        operations.Stored,
    )
}
_FIELDS: Final = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in _EFFECTS.values()
}
_ENCODE: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_BYTES: Final = frozenset({"name", "target", "source_name", "target_name", "value"})

Fields: TypeAlias = tuple[
    int, str, bytes, tuple[Effect, ...], bytes, int, int, int, int, NodeId | None
]
"""step, call, path, effects, target_path, process, thread, time_ns, error, node: an operation."""
Reader = Callable[[int, int], memoryview]
"""Gives ``length`` bytes at ``offset`` of the data file."""


class DataWriter:
    """Appends to the data file and says where."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = 0

    def put(self, data: bytes | memoryview) -> list[int]:
        self._file.write(data)
        place = [self._end, len(data)]
        self._end += len(data)
        return place


def text(data: bytes | bytearray) -> str:
    return data.decode("latin-1")


def raw(value: str) -> bytes:
    return value.encode("latin-1")


def encode_step(fields: Fields, data: DataWriter) -> str:
    """An operation by its fields, as a line; put together by hand, because the job waits for it."""
    step, call, path, effects, target_path, process, thread, time_ns, error, node = fields
    shown = ""
    for effect in effects:
        if type(effect) is SetTime:  # the most frequent one
            shown += f',["SetTime",{effect.node},{effect.mtime_ns}]'
        else:
            shown += "," + _LINES[type(effect)](effect, data)
    line = (
        f'{{"step":{step},"call":"{call}","path":{_text(path)},'
        f'"effects":[{shown[1:]}],'
        f'"process":{process},"thread":{thread},"time_ns":{time_ns}'
    )
    if target_path:
        line += f',"target_path":{_text(target_path)}'
    if error:
        line += f',"error":{error}'
    if node is not None:
        line += f',"node":{node}'
    return line + "}\n"


def decode_operation(line: str, read: Reader) -> Operation:
    record = json.loads(line)
    return Operation(
        step=record["step"],
        call=record["call"],
        path=raw(record["path"]),
        effects=tuple(_decode_effect(item, read) for item in record["effects"]),
        target_path=raw(record.get("target_path", "")),
        process=record["process"],
        thread=record["thread"],
        time_ns=record["time_ns"],
        error=record.get("error", 0),
        node=record.get("node"),
    )


@functools.lru_cache(4096)
def _text(data: bytes) -> str:
    return encode_basestring_ascii(data.decode("latin-1"))


def _effect(effect: Effect, data: DataWriter) -> str:
    """Any effect but a write, field by field."""
    kind = type(effect)
    item: list[Json] = [kind.__name__]
    for name in _FIELDS[kind]:
        value = getattr(effect, name)
        item.append(text(value) if type(value) is bytes else value)
    return _ENCODE(item)


def _write(effect: operations.Write, data: DataWriter) -> str:
    offset, length = data.put(effect.data)
    durable = "true" if effect.durable else "false"
    return (
        f'["Write",{effect.node},{effect.offset},[{offset},{length}],"{effect.origin}",{durable}]'
    )


def _create(effect: operations.Create, data: DataWriter) -> str:
    return (
        f'["Create",{effect.directory},{_text(effect.name)},{effect.node},"{effect.kind}",'
        f"{effect.mode},{_text(effect.target)},{effect.device}]"
    )


def _rename(effect: operations.Rename, data: DataWriter) -> str:
    exchange = "true" if effect.exchange else "false"
    return (
        f'["Rename",{effect.source_directory},{_text(effect.source_name)},'
        f"{effect.target_directory},{_text(effect.target_name)},{exchange}]"
    )


def _unlink(effect: operations.Unlink, data: DataWriter) -> str:
    return f'["Unlink",{effect.directory},{_text(effect.name)}]'


def _sync(effect: operations.Sync, data: DataWriter) -> str:
    node = "null" if effect.node is None else effect.node
    return f'["Sync",{node},{"true" if effect.data_only else "false"}]'


_LINES: Final[Mapping[type, Callable[..., str]]] = {
    **dict.fromkeys(_EFFECTS.values(), _effect),
    operations.Write: _write,
    operations.Create: _create,
    operations.Rename: _rename,
    operations.Unlink: _unlink,
    operations.Sync: _sync,
}
"""The frequent ones by hand, in the form that :func:`_effect` would give them."""


def _decode_effect(item: Json, read: Reader) -> Effect:
    kind = _EFFECTS[item[0]]
    values: dict[str, Json] = {}
    for name, value in zip(_FIELDS[kind], item[1:], strict=True):
        decoded = value
        if name == "data":
            decoded = read(*value) if kind is Write else raw(value)
        elif name in _BYTES and value is not None:
            decoded = raw(value)
        elif name == "kind":
            decoded = NodeKind(value)
        elif name == "origin":
            decoded = Origin(value)
        values[name] = decoded
    return kind(**values)


def encode_image(image: Image, data: DataWriter) -> Json:
    return [[number, *_encode_node(node, data)] for number, node in image.nodes.items()]


def _encode_node(node: Node, data: DataWriter) -> list[Json]:
    common: dict[str, Json] = {"mode": node.mode, "owner": node.owner, "mtime_ns": node.mtime_ns}
    if node.attributes:
        common["attributes"] = {text(k): text(v) for k, v in node.attributes.items()}
    match node:
        case File():
            common["content"] = data.put(node.content.read(0, node.content.size))
            return ["file", common]
        case Directory():
            common["entries"] = {text(name): child for name, child in node.entries.items()}
            return ["directory", common]
        case Symlink():
            common["target"] = text(node.target)
            return ["symlink", common]
        case Special():
            common["kind"], common["device"] = node.kind, node.device
            return ["special", common]
        case _:
            raise TypeError(f"not a node: {node!r}")


def decode_image(items: Json, read: Reader) -> Image:
    nodes: dict[NodeId, Node] = {}
    for number, kind, record in items:
        common: dict[str, Json] = {
            "mode": record["mode"],
            "owner": tuple(record["owner"]),
            "mtime_ns": record["mtime_ns"],
        }
        attributes = record.get("attributes")
        if attributes:
            common["attributes"] = {raw(k): raw(v) for k, v in attributes.items()}
        if kind == "file":
            nodes[number] = File(content=Content.of(read(*record["content"])), **common)
        elif kind == "directory":
            entries = {raw(name): child for name, child in record["entries"].items()}
            nodes[number] = Directory(entries=MappingProxyType(entries), **common)
        elif kind == "symlink":
            nodes[number] = Symlink(target=raw(record["target"]), **common)
        else:
            nodes[number] = Special(kind=record["kind"], device=record["device"], **common)
    return Image(nodes)
