"""Where a write can be cut short.

A write that a signal or a full disk cuts short ends at a page of the file, or anywhere in the data.
All cuts of a large write are too many, so those are taken at which programs are known to err: after
its first byte, in its middle, before its last byte, after lines, and at page boundaries. A cut at
0 or at the end is not torn: it is what a kill before or after leaves.
Events are never torn, nor is what came through a mapping or from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.record.operations import Write
from pytest_checkpoint.states.kill import TORN_PREFIX, CrashState
from pytest_checkpoint.tree.content import Buffer

SMALL_WRITE_BYTES: Final = 256
"""Up to here a write is cut at every byte."""
MOST_NEWLINES: Final = 64
MOST_BOUNDARIES: Final = 1024
PAGE_BYTES: Final = 4096
_SEARCH_BYTES: Final = 1 << 16


def torn_state(step: int, cut: int) -> CrashState:
    """The write of operation ``step``, of which only the first ``cut`` bytes arrived."""
    return CrashState(Fault.TORN, step, f"{TORN_PREFIX}{cut}", cut)


def cuts(write: Write, *, exhaustive: bool = False) -> list[int]:
    """How many bytes arrive, rising. Page boundaries are 1024 at most, unless ``exhaustive``."""
    length = len(write.data)
    if length <= SMALL_WRITE_BYTES:
        return list(range(1, length))
    boundaries = range(PAGE_BYTES - write.offset % PAGE_BYTES, length, PAGE_BYTES)
    chosen = boundaries if exhaustive else _spread(boundaries, MOST_BOUNDARIES)
    return sorted({*first_cuts(write), *chosen})


def first_cuts(write: Write) -> list[int]:
    """The cuts that must be explored for the operation to count as covered, most telling first.

    Middle, first, last, then after each newline.
    """
    length = len(write.data)
    marked = (length // 2, 1, length - 1, *_after_newlines(write.data))
    return list(dict.fromkeys(cut for cut in marked if 0 < cut < length))


def _after_newlines(data: Buffer) -> Iterator[int]:
    found = 0
    for start in range(0, len(data), _SEARCH_BYTES):
        # In pieces: a mapped 200 MB is not copied for the sake of its first lines.
        piece = bytes(data[start : start + _SEARCH_BYTES])
        at = piece.find(b"\n")
        while at >= 0 and found < MOST_NEWLINES:
            found += 1
            yield start + at + 1
            at = piece.find(b"\n", at + 1)
        if found == MOST_NEWLINES:
            return


def _spread(values: Sequence[int], most: int) -> Sequence[int]:
    """At most ``most`` of ``values``, evenly, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[index * (len(values) - 1) // (most - 1)] for index in range(most)]
