"""What reached a device, in order: writes as they completed, and flushes.

A flush makes all writes that completed before it durable. Between two flushes the device may lose
any of them: it keeps a cache of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.real_filesystems.fuse_server import FLUSH, RECORD


@dataclass(frozen=True, slots=True)
class DeviceWrite:
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Flush:
    pass


Entry = DeviceWrite | Flush


def read_log(descriptor: int) -> list[Entry]:
    """All that has been logged so far in the memory file of a fuse_server."""
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, size, 0)
    entries: list[Entry] = []
    at = 0
    while at < size:
        offset, length = RECORD.unpack_from(text, at)
        at += RECORD.size
        if offset == FLUSH:
            entries.append(Flush())
        else:
            entries.append(DeviceWrite(offset, text[at : at + length]))
        at += length
    return entries


def last_flush(entries: Sequence[Entry], position: int) -> int:
    """The number of entries up to and with the last flush among the first ``position``; 0: none."""
    for index in range(position, 0, -1):
        if isinstance(entries[index - 1], Flush):
            return index
    return 0
