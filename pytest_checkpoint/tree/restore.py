"""Make a real directory hold what an image says: exactly that, and nothing else.

What stood there is removed first, symbolic links as links, so that nothing outside the directory is
ever touched. Directories are opened up (0700) while they are filled and get their mode and time
last, from the leaves to the root, since filling them changes their time and a closed one could
not be filled.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.content import Buffer, Content
from pytest_checkpoint.tree.image import (
    ROOT,
    Attributes,
    Directory,
    File,
    Image,
    Node,
    NodeId,
    Special,
    Symlink,
)

_OPEN_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_ALL: Final = 0o700
_BUFFERS_PER_CALL: Final = 1024
"""IOV_MAX of Linux."""
_SPECIAL_TYPES: Final = {
    "fifo": stat.S_IFIFO,
    "socket": stat.S_IFSOCK,
    "device": stat.S_IFCHR,
    "block device": stat.S_IFBLK,
}


def restore(image: Image, directory: Path, *, exclude: frozenset[bytes] = frozenset()) -> None:
    """Fill ``directory``, which exists, with ``image``; remove all else that is in it.

    ``exclude`` names entries directly in ``directory`` that are neither removed nor written. Owners
    are set only as root, and only where they are not the caller's own.

    Raises :class:`HarnessError` if the machine refuses; the directory is then half done.
    """
    try:
        descriptor = _open_directory(os.fsencode(directory), None)
        try:
            _empty(descriptor, exclude)
            _Writer(image, descriptor).fill(exclude)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HarnessError(f"cannot restore a crash state in {directory}: {error}") from error


def _open_directory(name: bytes, parent: int | None) -> int:
    """Open a directory, with leave to read, enter and change it, whatever its mode was."""
    try:
        descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
    except PermissionError:
        # O_PATH needs no permission on the directory itself, and does not follow a link.
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{handle}", _OWNER_ALL)
        finally:
            os.close(handle)
        return os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
    if os.fstat(descriptor).st_mode & _OWNER_ALL != _OWNER_ALL:
        os.fchmod(descriptor, _OWNER_ALL)
    return descriptor


def _empty(top: int, exclude: frozenset[bytes]) -> None:
    """Remove all below ``top``, an open directory, but for the excluded names directly in it."""
    # One level per open directory, as a stack: (descriptor, its own name, subdirectories to do).
    levels = [(top, b"", _remove_files(top, exclude))]
    try:
        while levels:
            descriptor, name, subdirectories = levels[-1]
            if subdirectories:
                inner = subdirectories.pop()
                opened = _open_directory(inner, descriptor)
                levels.append((opened, inner, []))  # first owned, so that it is closed on errors
                levels[-1][2].extend(_remove_files(opened, frozenset()))
                continue
            levels.pop()
            if levels:
                os.close(descriptor)
                os.rmdir(name, dir_fd=levels[-1][0])
    finally:
        for descriptor, _, _ in levels[1:]:
            os.close(descriptor)


def _remove_files(descriptor: int, exclude: frozenset[bytes]) -> list[bytes]:
    """Unlink all but directories; the names of these."""
    subdirectories = []
    with os.scandir(descriptor) as entries:
        found = [
            (os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries
        ]
    for name, is_directory in found:
        if name in exclude:
            continue
        if is_directory:
            subdirectories.append(name)
        else:
            os.unlink(name, dir_fd=descriptor)
    return subdirectories


class _Writer:
    """Writes one image below one open, empty directory."""

    def __init__(self, image: Image, top: int) -> None:
        self._image = image
        self._top = top
        self._user = (os.geteuid(), os.getegid())
        self._first_names: dict[NodeId, bytes] = {}

    def fill(self, exclude: frozenset[bytes]) -> None:
        root = self._image.nodes[ROOT]
        if not isinstance(root, Directory):
            raise HarnessError("an image to restore has no directory as its root")
        # Parents come before what they hold, so in reverse each is finished after its content.
        directories: list[tuple[bytes, Directory]] = []
        pending = [(name, node) for name, node in root.entries.items() if name not in exclude]
        while pending:
            path, number = pending.pop()
            node = self._image.nodes.get(number)
            if node is None:
                raise HarnessError(f"an image to restore names the node {number}, which it lacks")
            if isinstance(node, Directory):
                os.mkdir(path, _OWNER_ALL, dir_fd=self._top)
                directories.append((path, node))
                pending += [(path + b"/" + name, inner) for name, inner in node.entries.items()]
            else:
                self._create(path, number, node)
        for path, node in reversed(directories):
            descriptor = os.open(path, _OPEN_DIRECTORY, dir_fd=self._top)
            try:
                self._finish(descriptor, node)
            finally:
                os.close(descriptor)
        self._finish_root(root)

    def _create(self, path: bytes, number: NodeId, node: Node) -> None:
        first = self._first_names.setdefault(number, path)
        if first is not path:
            os.link(first, path, src_dir_fd=self._top, dst_dir_fd=self._top, follow_symlinks=False)
        elif isinstance(node, File):
            descriptor = os.open(path, _CREATE_FILE, 0o600, dir_fd=self._top)
            try:
                _write(descriptor, node.content)
                self._finish(descriptor, node)
            finally:
                os.close(descriptor)
        else:
            self._create_without_content(path, node)

    def _create_without_content(self, path: bytes, node: Node) -> None:
        if isinstance(node, Symlink):
            os.symlink(node.target, path, dir_fd=self._top)
        elif isinstance(node, Special):
            kind = _SPECIAL_TYPES[node.kind]
            os.mknod(path, kind | 0o600, node.device, dir_fd=self._top)
        if self._must_own(node.owner):
            os.chown(path, *node.owner, dir_fd=self._top, follow_symlinks=False)
        if not isinstance(node, Symlink):  # a link has no mode of its own
            os.chmod(path, node.mode, dir_fd=self._top)
        times = (node.mtime_ns, node.mtime_ns)
        os.utime(path, ns=times, dir_fd=self._top, follow_symlinks=False)

    def _finish(self, descriptor: int, node: File | Directory) -> None:
        """Attributes while the mode still allows it, then owner, which clears bits of the mode."""
        if node.attributes:
            _set_attributes(descriptor, node.attributes)
        if self._must_own(node.owner):
            os.fchown(descriptor, *node.owner)
        os.fchmod(descriptor, node.mode)
        os.utime(descriptor, ns=(node.mtime_ns, node.mtime_ns))

    def _finish_root(self, root: Directory) -> None:
        """The root was there before: it may have another owner, and attributes to lose."""
        for name in os.listxattr(self._top):
            if name.startswith("user.") and os.fsencode(name) not in root.attributes:
                os.removexattr(self._top, name)
        status = os.fstat(self._top)
        if self._user[0] == 0 and (status.st_uid, status.st_gid) != root.owner:
            os.fchown(self._top, *root.owner)
        if root.attributes:
            _set_attributes(self._top, root.attributes)
        os.fchmod(self._top, root.mode)
        os.utime(self._top, ns=(root.mtime_ns, root.mtime_ns))

    def _must_own(self, owner: tuple[int, int]) -> bool:
        return self._user[0] == 0 and owner != self._user


def _set_attributes(descriptor: int, attributes: Attributes) -> None:
    for name, value in attributes.items():
        os.setxattr(descriptor, os.fsdecode(name), value)


def _write(descriptor: int, content: Content) -> None:
    """Write what is stored and leave holes where nothing is."""
    end = 0
    for offset, buffers in _runs(content):
        end = offset + sum(map(len, buffers))
        written = os.pwritev(descriptor, buffers, offset)
        if offset + written < end:  # cut short (2 GiB at most go in one call): the slow way
            rest = memoryview(b"".join(buffers))[written:]
            while rest:
                rest = rest[os.pwrite(descriptor, rest, end - len(rest)) :]
    if end < content.size:
        os.ftruncate(descriptor, content.size)


def _runs(content: Content) -> Iterator[tuple[int, list[Buffer]]]:
    """Neighbouring buffers together, as many as one call takes."""
    start = end = 0
    buffers: list[Buffer] = []
    for offset, data in content.chunks():
        if buffers and (offset != end or len(buffers) == _BUFFERS_PER_CALL):
            yield start, buffers
            buffers = []
        if not buffers:
            start = offset
        buffers.append(data)
        end = offset + len(data)
    if buffers:
        yield start, buffers
