"""What comes into the recorded tree from elsewhere by rename or link, read there and then."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Final

from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    Link,
    NodeKind,
    Origin,
    SetAttribute,
    SetOwner,
    SetTime,
    Unlink,
    Write,
)
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.reply import CannotRecord
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.image import NodeId, printable

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
    known = tree.file(status) if kind is not NodeKind.DIRECTORY else None
    if known is not None:  # one more name of what was recorded already, here or a moment ago
        tree.link(parent, name, known)
        yield Link(parent, name, known)
        return
    node = tree.create(parent, name, status, is_directory=kind is NodeKind.DIRECTORY)
    target = os.readlink(name, dir_fd=at) if kind is NodeKind.SYMLINK else b""
    mode = stat.S_IMODE(status.st_mode)
    yield Create(parent, name, node, kind, mode, target, status.st_rdev)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        yield SetOwner(node, status.st_uid, status.st_gid)
    if kind is NodeKind.FILE:
        yield from _content(node, at, name)
    if kind is NodeKind.DIRECTORY:
        below = _open(name, at, os.O_DIRECTORY)
        try:
            yield from _attributes(node, below)
            for child in sorted(map(os.fsencode, os.listdir(below))):
                yield from _read(tree, node, below, child)
        finally:
            os.close(below)
    yield SetTime(node, status.st_mtime_ns)


def _content(node: NodeId, at: int, name: bytes) -> Iterator[Effect]:
    with open(_open(name, at, 0), "rb") as source:
        data = source.read()
        if data:
            yield Write(node, 0, data, Origin.ARRIVED)
        yield from _attributes(node, source.fileno())


def _attributes(node: NodeId, descriptor: int) -> Iterator[Effect]:
    try:
        names = [name for name in os.listxattr(descriptor) if name.startswith("user.")]
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    for name in names:
        yield SetAttribute(node, os.fsencode(name), os.getxattr(descriptor, name))


def _open(name: bytes, at: int, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=at)
    except PermissionError as error:
        raise CannotRecord(
            f"{printable(name)} came into the workspace from outside and cannot be read "
            f"({error.strerror}), so that its content is not known; give it mode 0600 before"
        ) from error
