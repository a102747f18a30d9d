"""A quota on the workspace, or on a directory of it: what a tmpfs of that size takes and refuses.

Theory, as measured on tmpfs of Linux 6.18:

* A file takes the 4 KiB pages that something was put into: holes take none. A write goes on up to
  the first page that is not to be had, and says how far it came; the next one fails. A truncate
  gives back the pages behind the new end but for the one it lies in, a hole that is punched the
  whole pages within. fallocate gets all of its range or nothing. A symbolic link whose text is
  longer than 127 bytes takes a page.
* Every file, directory, symbolic link, FIFO, socket or device takes an inode, the directory with
  the quota one for itself, and every further name of a file one more (but not the first one of a
  file made without a name). Extended attributes take parts of an inode.
* A file without a name keeps what it has until nobody holds it open or mapped any more, and so
  does the directory that it was in.
* The directory is a file system of its own: rename and link across its border say EXDEV, and it
  cannot be moved or removed itself (EBUSY). The virtual quota says so as well, though the border
  runs within one file system: as project quotas of ext4 and xfs do, and as the real thing must.
  TMPDIR lies outside. Neither of the two answers counts as the fault's having fired.
* What lay there when the run began counts. It may be more than there is room for: then nothing is
  given until enough has gone.

Not counted: pages that a *read* through a mapping allocates in a hole, and inodes of removed
directories that are open. Stores through mappings are counted afterwards, when they are
seen, and cannot be refused.

With ``bytes`` the same is counted in bytes instead of pages.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.injector import Deed, Denied, Intent
from pytest_checkpoint.record.operations import Effect
from pytest_checkpoint.record.room.ledger import INODE, PAGE, Ledger
from pytest_checkpoint.record.room.lull import Lull
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.image import NodeId

_OPENS: Final = ("open", "openat", "openat2")


class Quota:
    """The :class:`~pytest_checkpoint.record.injector.Trouble` that denies what has no room."""

    def __init__(
        self, room: Room, tree: TrackedTree, root: NodeId, ledger: Ledger, lull: Lull
    ) -> None:
        self.lull = lull
        self._tree = tree
        self._root = root
        self._ledger = ledger
        self._error = room.error
        self._space = room.bytes if room.blocks is None else room.blocks * PAGE
        self._inodes = None if room.inodes is None else room.inodes * INODE

    # --- what is about to be done ---

    def before(self, intent: Intent) -> int:
        self._look()
        try:
            return self._granted(intent)
        except Denied as denied:
            if denied.fires:
                self.lull.refused(intent.call, intent.path)
            raise

    def _look(self) -> None:
        """Nothing is refused any more, if it is time."""
        if self.lull.is_over():
            self._space = self._inodes = None

    def _granted(self, intent: Intent) -> int:
        match intent.deed:
            case Deed.WRITE:
                return self._writable(intent)
            case Deed.ALLOCATE:
                end = intent.start + intent.length
                self._require(self._ledger.lacking(intent.node, intent.start, end))
            case Deed.MAKE if self._makes(intent):
                self._require_inodes(INODE)
                self._require(self._ledger.link_size(intent.length))
            case Deed.LINK:
                self._link(intent)
            case Deed.MOVE:
                self._move(intent)
            case Deed.REMOVE if intent.path == self._root_path:
                raise Denied(errno.EBUSY, fires=False)
            case Deed.ATTRIBUTES if intent.node in self._ledger:
                self._require_inodes(intent.length)
            case _:
                pass
        return intent.length

    def _writable(self, intent: Intent) -> int:
        node, start, length = intent.node, intent.start, intent.length
        if node is None or node not in self._ledger or self._space is None or not length:
            return length
        end = start + length
        reach = self._ledger.reach(node, start, end, self._space - self._ledger.used)
        if reach < end and self._ledger.collect():
            reach = self._ledger.reach(node, start, end, self._space - self._ledger.used)
        if reach <= start:
            raise Denied(self._error)
        return reach - start

    def _makes(self, intent: Intent) -> bool:
        """A new inode under the quota; what exists already makes the call fail by itself."""
        if intent.call in _OPENS and self._tree.node_at(intent.path) in self._ledger:
            return self._tree.is_directory(self._tree.node_at(intent.path))  # one without a name
        return self._inside(intent.path) and self._tree.node_at(intent.path) is None

    def _link(self, intent: Intent) -> None:
        if self._tree.node_at(intent.target_path) is not None:
            return  # EEXIST
        if intent.node is None and _is_missing(intent.path):
            return  # ENOENT
        if self._inside(intent.target_path) != (intent.node in self._ledger):
            raise Denied(errno.EXDEV, fires=False)
        if self._ledger.has_name(intent.node):
            self._require_inodes(INODE)

    def _move(self, intent: Intent) -> None:
        if self._inside(intent.path) != self._inside(intent.target_path):
            raise Denied(errno.EXDEV, fires=False)
        if self._root_path in (intent.path, intent.target_path):
            raise Denied(errno.EBUSY, fires=False)

    @property
    def _root_path(self) -> bytes:
        return self._tree.path(self._root)

    def _inside(self, path: bytes) -> bool:
        """Whether the directory that this name is in has the quota, or lies below it."""
        return path.startswith(self._root_path + b"/")

    def _require(self, more: int) -> None:
        if not more or self._space is None or self._ledger.used + more <= self._space:
            return
        if not self._ledger.collect() or self._ledger.used + more > self._space:
            raise Denied(self._error)

    def _require_inodes(self, more: int) -> None:
        if not more or self._inodes is None or self._ledger.used_inodes + more <= self._inodes:
            return
        if not self._ledger.collect() or self._ledger.used_inodes + more > self._inodes:
            raise Denied(self._error)

    # --- what was done ---

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        unnamed = call in _OPENS and (path == self._root_path or self._inside(path))
        before = self._ledger.used, self._ledger.used_inodes
        self._ledger.after(effects, unnamed=unnamed)
        if before != (self._ledger.used, self._ledger.used_inodes):
            self.lull.changed()

    # --- what there is ---

    def __contains__(self, node: NodeId | None) -> bool:
        return node in self._ledger

    def space(self) -> tuple[int, int] | None:
        """Bytes in all, and bytes that are free; None without such a limit."""
        self._look()
        if self._space is None:
            return None
        self._ledger.collect()
        return self._space, max(0, self._space - self._ledger.used)

    def inodes(self) -> tuple[int, int] | None:
        """Inodes in all, and free ones; None without such a limit."""
        self._look()
        if self._inodes is None:
            return None
        self._ledger.collect()
        return self._inodes // INODE, max(0, self._inodes - self._ledger.used_inodes) // INODE


def _is_missing(path: bytes) -> bool:
    """Of a path outside, which is absolute; or of a file that is known to have none."""
    return path.startswith(b"/") and not os.path.lexists(path)


def unit_of(room: Room) -> int:
    """Bytes that a quota counts at once. HarnessError if it would count in two ways."""
    if room.bytes is None:
        return PAGE
    if room.blocks is not None:
        raise HarnessError("a quota counts in blocks or in bytes, not in both")
    return 1
