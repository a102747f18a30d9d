"""Read a real directory into an :class:`~pytest_checkpoint.tree.image.Image`.

Nothing is followed out of the directory and nothing in it is changed, times of access apart. No
other process may write in it meanwhile. Of extended attributes only ``user.*`` is read, and only
where the file system has them: the others belong to the machine, not to the subject.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import (
    NO_ATTRIBUTES,
    ROOT,
    Attributes,
    Directory,
    File,
    Image,
    Node,
    NodeId,
    Special,
    Symlink,
    printable,
)

_SPECIAL_KINDS = {
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "block device",
}


@dataclass(frozen=True, slots=True)
class Captured:
    """What a directory held, and which inode became which node."""

    image: Image
    identities: dict[tuple[int, int], NodeId]
    """(st_dev, st_ino) → node."""


def capture(
    directory: Path, *, exclude: frozenset[bytes] = frozenset(), content: bool = True
) -> Captured:
    """Read ``directory``, which becomes :data:`ROOT`; nodes are numbered in sorted walking order.

    ``exclude`` names entries directly in ``directory`` to leave out. Without ``content`` every file
    is taken as empty, which is all that is needed to learn the identities.

    Raises :class:`HarnessError` if anything in it cannot be read.
    """
    nodes: dict[NodeId, Node] = {}
    identities: dict[tuple[int, int], NodeId] = {}
    top: dict[bytes, NodeId] = {}
    # An explicit stack: trees may be deeper than Python recurses.
    pending = [(os.fsencode(directory), b"", top)]
    while pending:
        path, name, siblings = pending.pop()
        try:
            status = os.lstat(path)
            identity = (status.st_dev, status.st_ino)
            known = identities.get(identity)
            if known is not None:
                siblings[name] = known
                continue
            number = len(nodes)
            node = _read(path, status, content=content)
            if isinstance(node, Directory):
                entries: dict[bytes, NodeId] = {}
                node = _with_entries(node, entries)
                left_out = exclude if number == ROOT else frozenset()
                names = sorted(set(os.listdir(path)) - left_out, reverse=True)
                pending += [(os.path.join(path, entry), entry, entries) for entry in names]
        except OSError as error:
            raise HarnessError(
                f"cannot read {printable(path)}, which the subject left behind: {error.strerror}"
            ) from error
        nodes[number] = node
        identities[identity] = number
        siblings[name] = number
    if not isinstance(nodes[ROOT], Directory):
        raise HarnessError(f"{directory} is not a directory")
    return Captured(Image(nodes), identities)


def _read(path: bytes, status: os.stat_result, *, content: bool) -> Node:
    kind = stat.S_IFMT(status.st_mode)
    mode = stat.S_IMODE(status.st_mode)
    owner = (status.st_uid, status.st_gid)
    mtime_ns = status.st_mtime_ns
    if kind == stat.S_IFREG:
        return File(
            mode=mode,
            owner=owner,
            mtime_ns=mtime_ns,
            attributes=_attributes(path),
            content=_content(path) if content and status.st_size else Content.empty(),
        )
    if kind == stat.S_IFDIR:
        return Directory(
            mode=mode, owner=owner, mtime_ns=mtime_ns, attributes=_attributes(path), entries={}
        )
    if kind == stat.S_IFLNK:
        return Symlink(mode=mode, owner=owner, mtime_ns=mtime_ns, target=os.readlink(path))
    return Special(
        mode=mode,
        owner=owner,
        mtime_ns=mtime_ns,
        kind=_SPECIAL_KINDS[kind],
        device=status.st_rdev,
    )


def _with_entries(node: Directory, entries: Mapping[bytes, NodeId]) -> Directory:
    return Directory(
        mode=node.mode,
        owner=node.owner,
        mtime_ns=node.mtime_ns,
        attributes=node.attributes,
        entries=entries,
    )


def _attributes(path: bytes) -> Attributes:
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EACCES):
            return NO_ATTRIBUTES
        raise
    found = {
        os.fsencode(name): os.getxattr(path, name, follow_symlinks=False)
        for name in names
        if name.startswith("user.")
    }
    return found or NO_ATTRIBUTES


def _content(path: bytes) -> Content:
    """The bytes of a file, its holes left out."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        found = Content.empty()
        for start, end in _data_ranges(descriptor, status):
            found = found.write(start, _read_range(descriptor, start, end - start))
        return found.truncate(status.st_size)
    finally:
        os.close(descriptor)


def data_ranges(path: bytes) -> list[tuple[int, int]]:
    """Start and end of what :func:`capture` takes as the data of a file: all but its holes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _data_ranges(descriptor, os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _data_ranges(descriptor: int, status: os.stat_result) -> list[tuple[int, int]]:
    size = status.st_size
    if status.st_blocks * 512 >= size:
        return [(0, size)] if size else []
    ranges = []
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end of the file
                break
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        ranges.append((start, end))
    return ranges


def _read_range(descriptor: int, offset: int, length: int) -> bytes:
    """``length`` bytes, fewer if the file ends before; read(2) gives at most 2 GiB at once."""
    pieces = []
    end = offset + length
    while offset < end:
        piece = os.pread(descriptor, end - offset, offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
