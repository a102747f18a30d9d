"""What became of the files of a directory when its copy was resumed.

The original still lies there, so that contents are compared file by file, and only where the copy
was touched: nothing has to be remembered of the rest.
"""

from __future__ import annotations

import enum
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pytest_checkpoint.command.inspecting.footprint import Footprint, Stamp
from pytest_checkpoint.tree.image import printable

_WINDOW_BYTES: Final = 1 << 20


class Fate(enum.StrEnum):
    """Of a name that is no directory's. The value is the participle of what happens to it."""

    DELETED = "deleted"
    CUT = "cut short"
    """Its beginning is left."""
    REWRITTEN = "rewritten"
    REPLACED = "replaced by something that is no file"
    MOVED = "moved aside"
    GROWN = "added to"
    """What it held is still its beginning."""
    MODE = "given another mode"
    AGAIN = "made again, or touched, with the same bytes"
    """It may have been gone for a while, and with it what it holds."""
    NEW = "new"


LOST: Final = (Fate.DELETED, Fate.CUT, Fate.REWRITTEN, Fate.REPLACED)
"""After these something that is there now is not there any more."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One name. Sizes in bytes; None: there is no file."""

    path: bytes
    fate: Fate
    size_before: int | None
    size_after: int | None
    now: bytes | None = None
    """Its new path, if it was moved aside."""

    @property
    def shown(self) -> str:
        return printable(self.path)

    @property
    def folder(self) -> str:
        """The directory that it lies in; empty: the top."""
        return printable(os.path.dirname(self.path))


def changes(original: Path, copy: Path, copied: Footprint, after: Footprint) -> tuple[Changed, ...]:
    """In sorted order. ``copied``: of the copy before anything ran there; ``after``: now."""
    places = {stamp.identity: path for path, stamp in after.stamps.items()}
    found = []
    taken = set()
    for path, stamp in sorted(copied.stamps.items()):
        if stamp.is_directory:
            continue
        one = _changed(original, copy, path, stamp, after, places, copied)
        if one is not None:
            found.append(one)
            taken.add(one.now)
    found += [
        Changed(path, Fate.NEW, None, stamp.size)
        for path, stamp in after.stamps.items()
        if path not in copied.stamps and path not in taken and not stamp.is_directory
    ]
    return tuple(sorted(found, key=lambda one: one.path))


def empty_folders(one: Footprint, other: Footprint) -> tuple[str, ...]:
    """Directories of one that hold no file, not even further down, and are none in the other."""
    filled = {b""}
    for path, stamp in one.stamps.items():
        while not stamp.is_directory and path not in filled:
            filled.add(path)
            path = os.path.dirname(path)  # noqa: PLW2901 - upwards until one is known
    return tuple(
        printable(path) + "/"
        for path, stamp in sorted(one.stamps.items())
        if stamp.is_directory
        and path not in filled
        and not (path in other.stamps and other.stamps[path].is_directory)
    )


def _changed(
    original: Path,
    copy: Path,
    path: bytes,
    stamp: Stamp,
    after: Footprint,
    places: dict[tuple[int, int], bytes],
    copied: Footprint,
) -> Changed | None:
    now = after.stamps.get(path)
    if now == stamp:
        return None
    if now is None:
        other = places.get(stamp.identity)
        if other is not None and other not in copied.stamps and _same(original, path, copy, other):
            return Changed(path, Fate.MOVED, stamp.size, stamp.size, other)
        return Changed(path, Fate.DELETED, stamp.size, None)
    fate = _fate(os.path.join(os.fsencode(original), path), os.path.join(os.fsencode(copy), path))
    if fate is None and stat.S_IMODE(now.mode) != stat.S_IMODE(stamp.mode):
        fate = Fate.MODE
    if fate is None and (now.identity, now.mtime_ns) != (stamp.identity, stamp.mtime_ns):
        fate = Fate.AGAIN
    return None if fate is None else Changed(path, fate, stamp.size, now.size)


def _same(original: Path, path: bytes, copy: Path, other: bytes) -> bool:
    old, new = os.path.join(os.fsencode(original), path), os.path.join(os.fsencode(copy), other)
    return _fate(old, new) is None


def _fate(old: bytes, new: bytes) -> Fate | None:
    """By type and content; None: they are alike."""
    one, other = os.lstat(old).st_mode, os.lstat(new).st_mode
    if stat.S_IFMT(one) != stat.S_IFMT(other):
        return Fate.REWRITTEN if stat.S_ISREG(other) else Fate.REPLACED
    if stat.S_ISLNK(one):
        return None if os.readlink(old) == os.readlink(new) else Fate.REWRITTEN
    if not stat.S_ISREG(one):
        return None
    if not os.access(new, os.R_OK):
        return None  # its mode is another, which is told
    with open(old, "rb", buffering=0) as before, open(new, "rb", buffering=0) as after:
        for left, right in _windows(before, after):
            if left == right:
                continue
            if left.startswith(right) and not after.read(1):
                return Fate.CUT
            if right.startswith(left) and not before.read(1):
                return Fate.GROWN
            return Fate.REWRITTEN
    return None


def _windows(one: BinaryIO, other: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Both files side by side; a shorter window is the end of its file.

    A hole that both have at the same place is left out, as large ones take minutes to read.
    """
    while True:
        _skip_hole(one, other)
        left, right = _whole(one), _whole(other)
        if not left and not right:
            return
        yield left, right


def _skip_hole(one: BinaryIO, other: BinaryIO) -> None:
    place = one.tell()
    data = min(_data_from(file, place) for file in (one, other))
    one.seek(data)
    other.seek(data)


def _data_from(file: BinaryIO, place: int) -> int:
    """Where the next bytes that are no hole begin, or the file ends."""
    try:
        return os.lseek(file.fileno(), place, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:  # no more data
            raise
    return max(place, os.fstat(file.fileno()).st_size)


def _whole(file: BinaryIO) -> bytes:
    """A window, also where a read gives less."""
    pieces = []
    missing = _WINDOW_BYTES
    while missing:
        piece = file.read(missing)
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
