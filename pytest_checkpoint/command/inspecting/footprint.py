"""What lies in a directory, by status alone: enough to see whether anything there was touched.

A file's ctime is set by the kernel at every change of its data, mode, owner, names or times, and by
nobody else. So two equal footprints are the same directory, untouched; times of access apart.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.tree.image import printable


class Stamp(NamedTuple):
    """Of one name. Two are equal as long as nothing of it was touched."""

    identity: tuple[int, int]
    """(st_dev, st_ino)."""
    mode: int
    """Type and permissions."""
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


@dataclass(frozen=True, slots=True)
class Footprint:
    stamps: Mapping[bytes, Stamp]
    """Path in the directory → stamp; the directory itself is ``b""``."""
    data_bytes: int = field(compare=False)
    """What all files hold together, holes left out, a file with several names once."""

    @property
    def files(self) -> int:
        """How many names of files there are."""
        return sum(not stamp.is_directory for stamp in self.stamps.values())


def footprint(directory: Path) -> Footprint:
    """Of all below a directory, nothing followed. UserError if something cannot be looked at."""
    stamps: dict[bytes, Stamp] = {}
    data: dict[tuple[int, int], int] = {}
    top = os.fsencode(directory)
    pending = [b""]
    while pending:
        path = pending.pop()
        place = os.path.join(top, path) if path else top
        try:
            status = os.lstat(place)
            if stat.S_ISDIR(status.st_mode):
                pending += [os.path.join(path, name) for name in os.listdir(place)]
        except OSError as error:
            raise UserError(
                f"{printable(place)} cannot be looked at: {error.strerror}; look as the user whose "
                "job it is, and when nothing is at work there"
            ) from error
        stamps[path] = Stamp(
            (status.st_dev, status.st_ino),
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        if stat.S_ISREG(status.st_mode):
            data[status.st_dev, status.st_ino] = min(status.st_size, status.st_blocks * 512)
    return Footprint(stamps, sum(data.values()))


def touched(before: Footprint, after: Footprint) -> list[str]:
    """The paths at which two footprints of one directory differ, fit to be shown."""
    paths = before.stamps.keys() | after.stamps.keys()
    return [
        printable(path) or "."
        for path in sorted(paths)
        if before.stamps.get(path) != after.stamps.get(path)
    ]
