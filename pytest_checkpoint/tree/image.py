"""What a directory tree holds at one moment, as an immutable value.

An :class:`Image` is a small file system: numbered nodes (the inodes) and directories that name
them. Hard links are two names of one node. Times are kept so that they can be restored, but they do
not count when two images are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pytest_checkpoint.tree.content import Content

NodeId = int
"""Identity of an inode within one recording: never used twice, also when the kernel reuses it."""

ROOT: NodeId = 0
"""The node of the recorded directory itself."""

Attributes = Mapping[bytes, bytes]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every inode has. ``mode`` holds permission bits only (``0o7777``)."""

    mode: int
    owner: tuple[int, int] = (0, 0)
    mtime_ns: int = 0
    attributes: Attributes = field(default_factory=lambda: NO_ATTRIBUTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Node):
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory(Node):
    entries: Mapping[bytes, NodeId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Symlink(Node):
    target: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Special(Node):
    """A FIFO, a socket or a device: it has a type and no content."""

    kind: str
    device: int = 0


@dataclass(frozen=True, slots=True)
class Image:
    """A tree: its nodes by number, :data:`ROOT` among them. Unreachable nodes may be present."""

    nodes: Mapping[NodeId, Node]


def directory_at(image: Image, path: bytes) -> NodeId | None:
    """The directory of this path; None: there is none."""
    node: NodeId | None = ROOT
    for name in path.split(b"/"):
        above = None if node is None else image.nodes[node]
        node = above.entries.get(name) if isinstance(above, Directory) else None
    return node if node is not None and isinstance(image.nodes[node], Directory) else None


def printable(name: bytes) -> str:
    """A name or path for people: what is no printable UTF-8 is escaped, as in ``\\x1b``."""
    shown = []
    for character in name.decode("utf-8", "surrogateescape"):
        if character.isprintable() and character != "\\":
            shown.append(character)
        elif 0xDC80 <= ord(character) <= 0xDCFF:
            shown.append(f"\\x{ord(character) - 0xDC00:02x}")
        else:
            shown.append(character.encode("unicode_escape").decode("ascii"))
    return "".join(shown)
