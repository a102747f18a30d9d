"""Which states a device may be in when the power goes, given all that reached it.

At each length of the log: all that had completed is there; or what came after the last flush is
lost, all of it, each write alone, or all but each one; or, in a cache that writes in any order, a
part of it drawn by a seed; or the write in flight is there in part, cut at a block.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.real_filesystems.device_log import DeviceWrite, Entry, Flush, last_flush

BLOCK_BYTES: Final = 4096
_DROPPED_AT_MOST: Final = 12
"""Writes that are dropped or kept one by one at each length of the log; the latest ones."""
_DRAWN: Final = 2
_CUTS: Final = 3


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The first ``prefix`` entries, those of ``extra`` (indices from 0), and part of one more."""

    prefix: int
    extra: tuple[int, ...] = ()
    cut: tuple[int, int] | None = None
    """Index and bytes of a write of which only the beginning is there."""


def device_states(
    entries: Sequence[Entry], begin: int, seed: random.Random
) -> Iterator[tuple[int, DeviceState]]:
    """Lengths of the log from ``begin`` on, each with the states it may be found in."""
    for position in range(begin, len(entries) + 1):
        flushed = last_flush(entries, position)
        pending = [
            index for index in range(flushed, position) if isinstance(entries[index], DeviceWrite)
        ]
        for kept in _subsets(pending, seed):
            yield position, _canonical(entries, flushed, kept)
        if position < len(entries):
            yield from ((position, state) for state in _torn(entries, position))


def at_most(
    pairs: Sequence[tuple[int, DeviceState]], count: int, seed: random.Random
) -> list[tuple[int, DeviceState]]:
    """With no more than so many different states; those without a loss among others come first."""
    states = list(dict.fromkeys(state for _, state in pairs))
    if len(states) <= count:
        return list(pairs)
    plain = [state for state in states if not state.extra and state.cut is None]
    others = [state for state in states if state.extra or state.cut is not None]
    rest = max(0, count - len(plain))
    chosen = {*plain, *seed.sample(others, min(rest, len(others)))}
    return [(position, state) for position, state in pairs if state in chosen]


def _subsets(pending: Sequence[int], seed: random.Random) -> Iterator[Sequence[int]]:
    yield pending
    if not pending:
        return
    yield ()
    if len(pending) == 1:
        return
    for index in pending[-_DROPPED_AT_MOST:]:
        yield [other for other in pending if other != index]
        yield [index]
    if len(pending) > 2:
        for _ in range(_DRAWN):
            yield [index for index in pending if seed.getrandbits(1)]


def _canonical(entries: Sequence[Entry], flushed: int, kept: Sequence[int]) -> DeviceState:
    """The same for the same bytes: what is whole from the beginning counts as prefix."""
    wanted = set(kept)
    prefix = flushed
    while prefix < len(entries) and wanted:
        if isinstance(entries[prefix], DeviceWrite):
            if prefix not in wanted:
                break
            wanted.remove(prefix)
        prefix += 1
    while prefix and isinstance(entries[prefix - 1], Flush):
        prefix -= 1  # a flush changes nothing
    return DeviceState(prefix, tuple(sorted(wanted)))


def _torn(entries: Sequence[Entry], position: int) -> Iterator[DeviceState]:
    entry = entries[position]
    if not isinstance(entry, DeviceWrite):
        return
    cuts = range(BLOCK_BYTES, len(entry.data), BLOCK_BYTES)
    chosen = cuts if len(cuts) <= _CUTS else (cuts[0], cuts[len(cuts) // 2], cuts[-1])
    for cut in chosen:
        yield DeviceState(_canonical(entries, position, ()).prefix, (), (position, cut))
