"""What comes into the recorded tree from elsewhere by rename or link, read there and then."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from pytest_checkpoint.record.caller import Place
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    NodeKind,
    Origin,
    SetOwner,
    SetTime,
    Unlink,
    Write,
)
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.image import NodeId

_KINDS: Final = {
    stat.S_IFREG: NodeKind.FILE,
    stat.S_IFDIR: NodeKind.DIRECTORY,
    stat.S_IFLNK: NodeKind.SYMLINK,
    stat.S_IFIFO: NodeKind.FIFO,
    stat.S_IFSOCK: NodeKind.SOCKET,
}


def arrival(
    tree: TrackedTree, directory: NodeId, place: Place, *, replaced: bool
) -> tuple[Effect, ...]:
    """What has just arrived under ``place``, as the effects of one atomic step."""
    effects: list[Effect] = []
    if replaced:
        tree.unlink(directory, place.name)
        effects.append(Unlink(directory, place.name))
    effects.extend(_read(tree, directory, place.directory, place.name))
    effects.append(SetTime(directory, os.fstat(place.directory).st_mtime_ns))
    return tuple(effects)


def _read(tree: TrackedTree, parent: NodeId, at: int, name: bytes) -> Iterator[Effect]:
    status = os.stat(name, dir_fd=at, follow_symlinks=False)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), NodeKind.DEVICE)
    node = tree.create(parent, name, status, is_directory=kind is NodeKind.DIRECTORY)
    target = os.readlink(name, dir_fd=at) if kind is NodeKind.SYMLINK else b""
    mode = stat.S_IMODE(status.st_mode)
    yield Create(parent, name, node, kind, mode, target, status.st_rdev)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        yield SetOwner(node, status.st_uid, status.st_gid)
    if kind is NodeKind.FILE and status.st_size:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        with open(file, "rb") as source:
            yield Write(node, 0, source.read(), Origin.ARRIVED)
    if kind is NodeKind.DIRECTORY:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
        try:
            for child in sorted(map(os.fsencode, os.listdir(below))):
                yield from _read(tree, node, below, child)
        finally:
            os.close(below)
    yield SetTime(node, status.st_mtime_ns)
