"""Writes down operations as a program would do them: for small writers and for tests."""

from __future__ import annotations

from typing import Final

from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Effect,
    Link,
    NodeKind,
    Operation,
    Rename,
    SetMode,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, NodeId

BLOCK: Final = 4096
OLD: Final = b"o" * (2 * BLOCK + 100)
"""What is in a file that was there before."""
_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o644


class Script:
    """A list of operations that grows; paths are those at that moment."""

    def __init__(self, **files: bytes) -> None:
        """``files`` are there before, and durable; ``_`` in a name stands for a dot."""
        self._entries: dict[NodeId, dict[bytes, NodeId]] = {ROOT: {}}
        self._unnamed: dict[str, NodeId] = {}
        self._sizes: dict[NodeId, int] = {}
        self._operations: list[Operation] = []
        self._last = ROOT
        contents = {}
        for name, data in files.items():
            node = self._new()
            self._entries[ROOT][name.replace("_", ".").encode()] = node
            self._sizes[node] = len(data)
            contents[node] = data
        root = Directory(mode=_DIRECTORY_MODE, entries=dict(self._entries[ROOT]))
        self.start = Image(
            {
                ROOT: root,
                **{
                    node: File(mode=_FILE_MODE, content=Content.of(data))
                    for node, data in contents.items()
                },
            }
        )

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(self._operations)

    def create(self, path: str) -> None:
        node = self._new()
        directory, name = self._place(path)
        self._entries[directory][name] = node
        self._sizes[node] = 0
        self._add("open", path, Create(directory, name, node, NodeKind.FILE, _FILE_MODE))

    def create_unnamed(self, handle: str) -> None:
        """O_TMPFILE; from here on ``handle`` is taken for its path."""
        node = self._unnamed[handle] = self._new()
        self._sizes[node] = 0
        self._add("open", handle, CreateUnnamed(node, _FILE_MODE))

    def mkdir(self, path: str) -> None:
        node = self._new()
        directory, name = self._place(path)
        self._entries[directory][name] = node
        self._entries[node] = {}
        self._add("mkdir", path, Create(directory, name, node, NodeKind.DIRECTORY, _DIRECTORY_MODE))

    def append(self, path: str, data: bytes) -> None:
        self.write(path, self._sizes[self._node(path)], data)

    def write(self, path: str, offset: int, data: bytes, *, durable: bool = False) -> None:
        node = self._node(path)
        self._sizes[node] = max(self._sizes[node], offset + len(data))
        self._add("pwrite64", path, Write(node, offset, data, durable=durable))

    def truncate(self, path: str, size: int) -> None:
        node = self._node(path)
        self._sizes[node] = size
        self._add("ftruncate", path, Truncate(node, size))

    def chmod(self, path: str, mode: int) -> None:
        self._add("chmod", path, SetMode(self._node(path), mode))

    def fsync(self, path: str) -> None:
        """Of a file or a directory; ``""`` is the root."""
        self._add("fsync", path, Sync(self._node(path), data_only=False))

    def fdatasync(self, path: str) -> None:
        self._add("fdatasync", path, Sync(self._node(path), data_only=True))

    def rename(self, source: str, target: str) -> None:
        old_directory, old_name = self._place(source)
        new_directory, new_name = self._place(target)
        self._entries[new_directory][new_name] = self._entries[old_directory].pop(old_name)
        effect = Rename(old_directory, old_name, new_directory, new_name)
        self._add("rename", source, effect, target)

    def link(self, source: str, target: str) -> None:
        node = self._node(source)
        directory, name = self._place(target)
        self._entries[directory][name] = node
        self._add("link", source, Link(directory, name, node), target)

    def unlink(self, path: str) -> None:
        directory, name = self._place(path)
        del self._entries[directory][name]
        self._add("unlink", path, Unlink(directory, name))

    def _new(self) -> NodeId:
        self._last += 1
        return self._last

    def _place(self, path: str) -> tuple[NodeId, bytes]:
        above, _, name = path.rpartition("/")
        return self._node(above), name.encode()

    def _node(self, path: str) -> NodeId:
        node = self._unnamed.get(path)
        if node is not None:
            return node
        node = ROOT
        for name in path.split("/") if path else ():
            node = self._entries[node][name.encode()]
        return node

    def _add(self, call: str, path: str, effect: Effect, target: str = "") -> None:
        self._operations.append(
            Operation(
                step=len(self._operations) + 1,
                call=call,
                path=path.encode(),
                effects=(effect,),
                target_path=target.encode(),
            )
        )
