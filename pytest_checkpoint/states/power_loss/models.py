"""The persistence models: which losses and reorderings a power loss may show.

Theory of operation
===================

A recording is normalised into two kinds of *changes*, each at its place in program order:

* a **name change** is what one operation did to names: create, link, unlink, rename (both of its
  directories and what it replaces included), an arrival from outside with all that lies below. It
  is atomic: on disk are all of its names, or none.
* a **data change** is what one write, truncate or fallocate did to the content of one inode,
  through whichever name or descriptor.

Each change is *durable* from some step on, or never. A power loss after step k keeps every change
that is durable by then, and any choice that the model allows of those made and not yet durable.
What the tree held at the start is durable. Events are kept outside of the machine: they are never
lost.

What makes changes durable (a call that failed makes nothing durable):

* a write through O_SYNC, O_DSYNC, RWF_(D)SYNC: itself, and the earlier changes of size of its
  inode, without which it could not be read; of names it says what an fdatasync says;
* fsync, fdatasync, msync of a file: all its earlier data changes, and names as :data:`RULES` has
  it;
* fsync or fdatasync of a directory: all earlier changes of names in it; a rename across
  directories as a whole. Only where names go in order it says anything of the directory's own name;
* sync, syncfs: everything.

A write that a *failed* fsync should have persisted stays lost until its bytes are written again,
whatever a later fsync returns.

**Names.** Those on disk are what the kept name changes give, applied in program order: the target
of a name is the last kept change on it. A dropped create leaves the file absent, a dropped unlink
or rename the old name in place. A directory that is not there takes all below with it. A directory
has one name only: where a subset would give it two, the last kept change counts.

Where names go in order, an inode is synced by committing all up to *its own last change*; if that
is on disk already, nothing is done, and a name changed since may be lost. A change of an inode is
its creation, a name that it gets or loses, another size, mode, owner or time set, an attribute; of
a directory also each name in it. Bytes written over others are none: they set the time, and within
one tick of the clock the time does not change. fdatasync asks for changes of size only.

**Data**, in every model, per inode, whatever happens to other inodes. Disks are written in blocks
of 4 KiB, in any order, each as it was at some moment:

* a block is as after any prefix of the unsynced writes (never a mixture within a block); one that
  was not there before may still be zeros; what was durable stays;
* the size is that after any prefix, or, where a write or fallocate made it grow, any block boundary
  up to the next above it; a truncate that makes it grow sets no other size on the way;
* truncates are steps of the inode itself: an earlier one is there if a later one, or any write
  after it, is. While one is not there, its last block may be as after it: its tail zeroed, or with
  later writes in it, at the old size.

So data may be missing, a prefix, torn at blocks, zeros up to the final size, or followed by zeros
up to a block boundary.

Decided here, since nothing else says it: the link under which an O_TMPFILE was created is its
first link, once made; fdatasync persists it only if the inode was truncated or grew after it. Mode,
owner and extended attributes are kept as they were last; the test of membership takes every mode
that the inode had before. Not simulated: garbage in sectors, disks that lie about flushes, bit rot.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


class Model(enum.StrEnum):
    """The value is the word of the options."""

    LINUX = "linux"
    POSIX = "posix"
    EXT4_ORDERED = "ext4-ordered"


class Persisted(enum.Enum):
    """Which names a file's sync makes durable."""

    NONE = enum.auto()
    CREATION = enum.auto()
    """The link that it was created under, and those of the directories above."""
    UP_TO_CHANGE = enum.auto()
    """All name changes, of all directories, up to the last change of the inode itself."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One model, as a row of the table."""

    in_order: bool
    """Whether names reach the disk in program order, over all directories together: then a suffix
    may be lost, else any subset."""
    file_sync: Persisted
    """By fsync of a file; by fdatasync only if the inode was created, truncated or grown since its
    last sync, and then as if that were its last change."""


RULES: Final[Mapping[Model, Rules]] = {
    Model.LINUX: Rules(in_order=False, file_sync=Persisted.CREATION),
    Model.POSIX: Rules(in_order=False, file_sync=Persisted.NONE),
    Model.EXT4_ORDERED: Rules(in_order=True, file_sync=Persisted.UP_TO_CHANGE),
}
