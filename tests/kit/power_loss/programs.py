"""Small programs, written down as a recorder would: names become nodes, each call an operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    NodeKind,
    Operation,
    Origin,
    Rename,
    SetMode,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.power_loss.crashes import PowerLoss, Unsynced
from pytest_checkpoint.states.power_loss.losses import Loss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, NodeId

WORKSPACE: NodeId = 1
Tree = dict[str, bytes]
"""Path in the workspace → content; directories end in ``/``."""


class Program:
    """Calls are methods; paths are relative to the workspace."""

    def __init__(self, **files: bytes) -> None:
        """``files`` stand in the workspace from the start, and are durable."""
        self.nodes: dict[str, NodeId] = {"": WORKSPACE}
        self.sizes: dict[NodeId, int] = {}
        self.directories = {WORKSPACE}
        self.operations: list[Operation] = []
        nodes: dict[NodeId, Node] = {
            ROOT: Directory(mode=0o700, entries={b"w": WORKSPACE}),
        }
        entries: dict[bytes, NodeId] = {}
        for name, data in files.items():
            number = self._new(name)
            entries[name.encode()] = number
            nodes[number] = File(mode=0o600, content=Content.of(data))
            self.sizes[number] = len(data)
        nodes[WORKSPACE] = Directory(mode=0o700, entries=entries)
        self.start = Image(nodes)

    # Calls.

    def create(self, path: str) -> None:
        self._make(path, NodeKind.FILE)

    def mkdir(self, path: str) -> None:
        self._make(path, NodeKind.DIRECTORY)
        self.directories.add(self.nodes[path])

    def create_unnamed(self, handle: str) -> None:
        number = self._new(handle)
        self.sizes[number] = 0
        self._do("openat", "", CreateUnnamed(number, 0o600))

    def write(
        self,
        path: str,
        data: bytes,
        offset: int | None = None,
        *,
        durable: bool = False,
        origin: Origin = Origin.CALL,
        time_ns: int | None = None,
    ) -> None:
        """At the end, if no ``offset`` is given; ``time_ns``: of the file afterwards."""
        number = self.nodes[path]
        at = self.sizes[number] if offset is None else offset
        self.sizes[number] = max(self.sizes[number], at + len(data))
        times = () if time_ns is None else (SetTime(number, time_ns),)
        self._do("write", path, Write(number, at, data, origin, durable), *times)

    def truncate(self, path: str, size: int) -> None:
        number = self.nodes[path]
        self.sizes[number] = size
        self._do("ftruncate", path, Truncate(number, size))

    def allocate(self, path: str, offset: int, length: int, *, zero: bool = False) -> None:
        number = self.nodes[path]
        self.sizes[number] = max(self.sizes[number], offset + length)
        self._do("fallocate", path, Allocate(number, offset, length, zero, keep_size=False))

    def rename(self, old: str, new: str, *, exchange: bool = False) -> None:
        effect = Rename(*self._place(old), *self._place(new), exchange)
        moved, replaced = self.nodes[old], self.nodes.get(new)
        if moved != replaced:
            moves = {path: path for path in self.nodes}
            for path in self.nodes:
                if path == old or path.startswith(old + "/"):
                    moves[path] = new + path[len(old) :]
                elif path == new or path.startswith(new + "/"):
                    moves[path] = old + path[len(new) :] if exchange else ""
            self.nodes = {to: self.nodes[path] for path, to in moves.items() if to or not path}
        self._do("rename", old, effect, target=new)

    def link(self, old: str, new: str) -> None:
        self.nodes[new] = self.nodes[old]
        self._do("link", old, Link(*self._place(new), self.nodes[old]), target=new)

    def unlink(self, path: str) -> None:
        del self.nodes[path]
        self._do("unlink", path, Unlink(*self._place(path)))

    def chmod(self, path: str, mode: int) -> None:
        self._do("chmod", path, SetMode(self.nodes[path], mode))

    def apply(self, path: str, effect: Effect) -> None:
        """Anything else."""
        self._do("apply", path, effect)

    def fsync(self, path: str) -> None:
        self._do("fsync", path, Sync(self.nodes[path], data_only=False))

    def fdatasync(self, path: str) -> None:
        self._do("fdatasync", path, Sync(self.nodes[path], data_only=True))

    def failed_fsync(self, path: str, *, node: NodeId | None = None) -> None:
        """``node``: of another file, which had this name."""
        self._do("fsync", path, error=5, node=self.nodes[path] if node is None else node)

    def sync(self) -> None:
        self._do("sync", "", Sync(None, data_only=False))

    def event(self, line: str) -> None:
        self._do("write", "", Event(line.encode() + b"\n"))

    # Looking at it.

    @property
    def step(self) -> int:
        """The last one."""
        return len(self.operations)

    def power_loss(self, model: Model) -> PowerLoss:
        return PowerLoss(self.start, b"", self.operations, model)

    def unsynced(self, model: Model) -> Unsynced:
        return self.power_loss(model).unsynced(self.step)

    def states(self, model: Model, step: int | None = None) -> Iterator[tuple[Loss, State]]:
        """All that is enumerated after a step; after the last, if none is given."""
        found = self.power_loss(model)
        at = self.step if step is None else step
        for loss in found.losses(at):
            yield loss, found.state(at, loss)

    def trees(self, model: Model, step: int | None = None) -> list[Tree]:
        return [tree(state.image) for _, state in self.states(model, step)]

    def _make(self, path: str, kind: NodeKind) -> None:
        number = self._new(path)
        self.sizes[number] = 0
        mode = 0o700 if kind is NodeKind.DIRECTORY else 0o600
        call = "mkdir" if kind is NodeKind.DIRECTORY else "openat"
        self._do(call, path, Create(*self._place(path), number, kind, mode))

    def _new(self, path: str) -> NodeId:
        number = max([WORKSPACE, *self.sizes, *self.nodes.values()]) + 1
        self.nodes[path] = number
        return number

    def _place(self, path: str) -> tuple[NodeId, bytes]:
        at = PurePosixPath(path)
        parent = "" if str(at.parent) == "." else str(at.parent)
        return self.nodes[parent], at.name.encode()

    def _do(
        self,
        call: str,
        path: str,
        *effects: Effect,
        target: str = "",
        error: int = 0,
        node: NodeId | None = None,
    ) -> None:
        self.operations.append(
            Operation(
                step=len(self.operations) + 1,
                call=call,
                path=f"w/{path}".rstrip("/").encode(),
                target_path=f"w/{target}".encode() if target else b"",
                effects=effects,
                error=error,
                node=node,
            )
        )


def tree(image: Image) -> Tree:
    """What stands in the workspace."""
    found: Tree = {}
    for path, _, node in walk(image):
        shown = path.decode().removeprefix("w").removeprefix("/")
        if shown and isinstance(node, Directory):
            found[shown + "/"] = b""
        elif shown and isinstance(node, File):
            found[shown] = node.content.read()
    return found


def image(contents: Tree) -> Image:
    """The other way round, with node numbers of its own."""
    nodes: dict[NodeId, Node] = {}
    entries: dict[str, dict[bytes, NodeId]] = {"": {}}
    numbers = {"": 1}
    for path in sorted(contents):
        at = PurePosixPath(path)
        parent = "" if str(at.parent) == "." else str(at.parent)
        number = 100 + len(numbers)
        numbers[str(at)] = number
        entries[parent][at.name.encode()] = number
        if path.endswith("/"):
            entries[str(at)] = {}
        else:
            nodes[number] = File(mode=0o600, content=Content.of(contents[path]))
    for path, inside in entries.items():
        nodes[numbers[path]] = Directory(mode=0o700, entries=inside)
    nodes[ROOT] = Directory(mode=0o700, entries={b"w": 1})
    return Image(nodes)
