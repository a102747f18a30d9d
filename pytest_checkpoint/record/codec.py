"""Operations and images as JSON lines, their bytes in one data file beside them.

Every effect is a list: its class name, then its fields in order. Byte strings are written as
Latin-1 text, so that ordinary names stay readable and any byte comes back; the data of a write is
``[offset, length]`` in the data file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from pytest_checkpoint.record import operations
from pytest_checkpoint.record.operations import Effect, NodeKind, Operation, Origin, Write
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
    )
}
_FIELDS: Final = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in _EFFECTS.values()
}
_ENCODE: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_BYTES: Final = frozenset({"name", "target", "source_name", "target_name", "value"})

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

    def flush(self) -> None:
        self._file.flush()


def text(data: bytes | bytearray) -> str:
    return data.decode("latin-1")


def raw(value: str) -> bytes:
    return value.encode("latin-1")


def encode_operation(operation: Operation, data: DataWriter) -> str:
    record: dict[str, Json] = {
        "step": operation.step,
        "call": operation.call,
        "path": text(operation.path),
        "effects": [_encode_effect(effect, data) for effect in operation.effects],
        "process": operation.process,
        "thread": operation.thread,
        "time_ns": operation.time_ns,
    }
    if operation.target_path:
        record["target_path"] = text(operation.target_path)
    if operation.error:
        record["error"] = operation.error
    if operation.node is not None:
        record["node"] = operation.node
    return _ENCODE(record)


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


def _encode_effect(effect: Effect, data: DataWriter) -> Json:
    kind = type(effect)
    item: list[Json] = [kind.__name__]
    for name in _FIELDS[kind]:
        value = getattr(effect, name)
        if name == "data" and kind is Write:
            value = data.put(value)
        elif type(value) is bytes:
            value = text(value)
        item.append(value)
    return item


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
