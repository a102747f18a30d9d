"""What a file system has left: by ``statvfs``, since a file's size need not be its room."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.extract.errors import StagingError


@dataclass(frozen=True, slots=True)
class Usage:
    """One look at the file system of a directory."""

    total_bytes: int
    free_bytes: int
    """For us: what is kept for root counts as used."""
    total_inodes: int
    """0: it does not count them (btrfs)."""
    free_inodes: int
    block_bytes: int

    @property
    def used_bytes(self) -> int:
        return self.total_bytes - self.free_bytes

    @property
    def used_inodes(self) -> int:
        return self.total_inodes - self.free_inodes


def usage_of(folder: Path) -> Usage:
    """
    :raises StagingError: it cannot be asked.
    """
    try:
        found = os.statvfs(folder)
    except OSError as error:
        raise StagingError(
            f"{folder}: what room there is cannot be found out: {error.strerror}."
        ) from error
    return Usage(
        total_bytes=found.f_blocks * found.f_frsize,
        free_bytes=found.f_bavail * found.f_frsize,
        total_inodes=found.f_files,
        free_inodes=found.f_favail,
        block_bytes=found.f_frsize or 4096,
    )
