"""What was found on real devices and must be found again: else the provoking no longer works."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems import sqlite_writers
from benchmarks.real_filesystems.judge import Judge
from benchmarks.real_filesystems.name_scripts import OVERWRITING_ROUNDS
from benchmarks.real_filesystems.script import BLOCK
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File, Image


class Expected(enum.StrEnum):
    SEEN = "seen"
    """On ext4, each time."""
    BY_CHANCE = "by chance"
    """It depends on how fast the machine is."""
    NEVER = "never"
    """Anywhere."""


@dataclass(frozen=True, slots=True)
class Finding:
    text: str
    writer: str
    found: Callable[[Judge, Path], int]
    """In how many pairs of a moment and a tree."""
    expected: Expected


def _file(image: Image, name: bytes) -> bytes | None:
    for path, _, node in walk(image):
        if path == name and isinstance(node, File):
            return node.content.read()
    return None


def _with_content(wanted: Callable[[bytes], bool]) -> Callable[[Judge, Path], int]:
    def count(judge: Judge, folder: Path) -> int:
        total = 0
        for tree, image in judge.images.items():
            data = _file(image, b"state")
            if data is not None and wanted(data):
                total += len(judge.moments[tree])
        return total

    return count


def _synced_but_unnamed(judge: Judge, folder: Path) -> int:
    """A rename came before an fsync of another file, which did not change after the rename."""
    synced = max(one.step for one in judge.writer.operations if one.target_path == b"kept") + 1
    return sum(
        done >= synced and _file(image, b"kept") is None
        for tree, image in judge.images.items()
        for done, _ in judge.moments[tree]
    )


def _overwritten_but_unnamed(judge: Judge, folder: Path) -> int:
    """The rename of a round is lost after its last fsync: that of a file overwritten since."""
    round_steps = len(judge.writer.operations) // OVERWRITING_ROUNDS
    total = 0
    for tree, image in judge.images.items():
        for done, _ in judge.moments[tree]:
            rounds, step = divmod(done, round_steps)
            name = b"kept" if rounds % 2 else b"state"
            # The next round begins with a write.
            total += rounds > 0 and step == 0 and _file(image, name) is None
    return total


def _linked_but_unnamed(judge: Judge, folder: Path) -> int:
    """A file was linked, and then synced by fdatasync."""
    synced = max(one.step for one in judge.writer.operations if one.target_path == b"next") + 1
    return sum(
        done == synced and _file(image, b"next") is None
        for tree, image in judge.images.items()
        for done, _ in judge.moments[tree]
    )


def _lost_commits(judge: Judge, folder: Path) -> int:
    """Acknowledged, and not there after the recovery."""
    return _commits_missing(judge, folder, lambda missing: missing > 0)


def _more_lost_commits(judge: Judge, folder: Path) -> int:
    """More than the last one, or a damaged database."""
    return _commits_missing(judge, folder, lambda missing: missing > 1)


def _commits_missing(judge: Judge, folder: Path, counts: Callable[[int], bool]) -> int:
    total = 0
    for tree, image in judge.images.items():
        present = sqlite_writers.commits_in(image, folder)
        for done, _ in judge.moments[tree]:
            total += counts(sqlite_writers.acknowledged(judge.writer, done) - present)
    return total


_NEW_BYTES: Final = 2 * BLOCK + 1000
FINDINGS: Final = (
    Finding(
        "length 0 under the final name after a rename to a new name",
        "rename-to-new",
        _with_content(lambda data: not data),
        Expected.SEEN,
    ),
    Finding(
        "zeros at full length under the final name after a rename that replaces a file",
        "rename-over",
        _with_content(lambda data: data == bytes(_NEW_BYTES)),
        Expected.SEEN,
    ),
    Finding(
        "an earlier rename is lost after fsync of a file that had not changed since",
        "sync-of-clean-file",
        _synced_but_unnamed,
        Expected.SEEN,
    ),
    Finding(
        "the same of a file that was overwritten in place since",
        "overwrite-within-a-tick",
        _overwritten_but_unnamed,
        Expected.BY_CHANCE,
    ),
    Finding(
        "the first name is lost after fdatasync of a file that was written before it was linked",
        "linked-when-written",
        _linked_but_unnamed,
        Expected.SEEN,
    ),
    Finding(
        "SQLite, rollback journal at FULL: the last acknowledged commit is lost",
        sqlite_writers.FULL,
        _lost_commits,
        Expected.SEEN,
    ),
    Finding(
        "SQLite, rollback journal at FULL: more than that is lost",
        sqlite_writers.FULL,
        _more_lost_commits,
        Expected.NEVER,
    ),
    Finding(
        "SQLite, rollback journal at EXTRA: an acknowledged commit is lost",
        sqlite_writers.EXTRA,
        _lost_commits,
        Expected.NEVER,
    ),
    Finding(
        "SQLite, WAL at FULL: an acknowledged commit is lost",
        sqlite_writers.WAL,
        _lost_commits,
        Expected.NEVER,
    ),
)
