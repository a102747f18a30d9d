"""A name in a directory: where a call makes, moves or removes something."""

from __future__ import annotations

import errno
import os
from typing import Final, Literal

from pytest_checkpoint.record.directories import Directories
from pytest_checkpoint.record.reply import PassOn, failing
from pytest_checkpoint.record.tracked import Identity
from pytest_checkpoint.tree.image import NodeId

NO_NAMES: Final = (b"", b".", b"..")
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class Place:
    """A name in a directory, resolved as the caller would: last component not followed further."""

    __slots__ = ("_is_ours", "_seen", "argument", "directory", "identity", "name", "node")

    def __init__(self, directory: int, name: bytes, *, as_directory: bool) -> None:
        self.directory = directory
        """An O_PATH descriptor; if nobody keeps it, it is closed with :meth:`close`."""
        self.name = name
        self.argument = name + b"/" if as_directory else name
        """The name as the caller gave it: a slash behind it means that it must be a directory."""
        status = os.fstat(directory)
        self.identity = (status.st_dev, status.st_ino)
        self.node: NodeId | None = None
        """The recorded directory that it is, where that was certain without a look."""
        self._is_ours = True
        self._seen: os.stat_result | Literal[False] | None = False

    @classmethod
    def kept(cls, directory: int, identity: Identity, node: NodeId | None, name: bytes) -> Place:
        """In a directory that is kept open."""
        place = cls.__new__(cls)
        place.directory = directory
        place.identity = identity
        place.node = node
        place.name = place.argument = name
        place._is_ours = place._seen = False
        return place

    def keep(self, directories: Directories) -> None:
        """Leave the directory open, for further calls."""
        if self._is_ours:
            self._is_ours = not directories.keep(self.identity, self.directory)

    def close(self) -> None:
        if self._is_ours:
            os.close(self.directory)

    def lookup(self) -> os.stat_result | None:
        """What stands under the name, not followed; None if nothing does."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise failing(error) from error

    def found(self) -> os.stat_result | None:
        """The same, as it was at the first look."""
        if self._seen is False:
            self._seen = self.lookup()
        return self._seen

    def real_path(self) -> bytes:
        """Absolute path, for messages and for rules about what lies outside."""
        try:
            directory = os.readlink(b"/proc/self/fd/%d" % self.directory)
        except OSError:  # longer than the kernel can tell
            directory = b"(a very long path)"
        return os.path.join(directory, self.name)


def split(start: int | None, path: bytes, *, as_directory: bool) -> Place:
    """The place that a path names, from ``start`` on; PassOn if it ends in no name."""
    parent, name = os.path.split(path.rstrip(b"/"))
    if name in NO_NAMES:
        raise PassOn
    directory = os.open(parent or b".", _DIRECTORY, dir_fd=start)
    return Place(directory, name, as_directory=as_directory)


def link_target(place: Place) -> bytes | None:
    """Where the symbolic link that stands there leads; None: it is none."""
    try:
        return os.readlink(place.name, dir_fd=place.directory)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        place.close()
        raise
