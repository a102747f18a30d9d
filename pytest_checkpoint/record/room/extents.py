"""Which bytes of a file take room, as disjoint ranges: a huge file costs no more than its holes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Extents:
    """Ranges of bytes, in whole units of ``unit`` bytes from the beginning of the file."""

    __slots__ = ("_ends", "_starts", "_unit", "size")

    def __init__(self, unit: int, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._unit = unit
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.size = 0
        """Bytes in all ranges together."""
        for start, end in ranges:
            self.add(start, end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._ends, strict=True)

    def lacking(self, start: int, end: int) -> int:
        """How many more bytes it takes to hold the range whole."""
        if start >= end:
            return 0
        start, end = self._outward(start, end)
        return end - start - self._held(start, end)

    def reach(self, start: int, end: int, room: int) -> int:
        """How far a write from ``start`` towards ``end`` comes if ``room`` bytes may be added.

        Up to the first unit that is neither there nor to be had: ``start`` if that is the first.
        """
        here = start
        while here < end:
            index = bisect_right(self._starts, here) - 1
            if index >= 0 and here < self._ends[index]:
                here = self._ends[index]
                continue
            low, _ = self._outward(here, here + 1)
            following = index + 1
            high = self._starts[following] if following < len(self._starts) else end
            _, high = self._outward(low, min(high, end))
            taken = min(high - low, room - room % self._unit)
            room -= taken
            if taken < high - low:
                here = max(here, low + taken)
                break
            here = high
        return min(here, end)

    def add(self, start: int, end: int) -> int:
        """Hold the range; returns how many bytes that added."""
        if start >= end:
            return 0
        start, end = self._outward(start, end)
        added = end - start - self._held(start, end)
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        self.size += added
        return added

    def remove(self, start: int, end: int | None = None) -> int:
        """Give back the whole units within the range, None: up to the end; returns the bytes."""
        start = -(-start // self._unit) * self._unit
        if end is None:
            end = self._ends[-1] if self._ends else 0
        end -= end % self._unit
        if start >= end:
            return 0
        removed = self._held(start, end)
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        left = [
            (low, high)
            for low, high in (
                (self._starts[first], start) if first < last else (0, 0),
                (end, self._ends[last - 1]) if first < last else (0, 0),
            )
            if low < high
        ]
        self._starts[first:last] = [low for low, _ in left]
        self._ends[first:last] = [high for _, high in left]
        self.size -= removed
        return removed

    def _outward(self, start: int, end: int) -> tuple[int, int]:
        return start - start % self._unit, -(-end // self._unit) * self._unit

    def _held(self, start: int, end: int) -> int:
        """Bytes of the range that are held."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        return sum(
            min(end, self._ends[index]) - max(start, self._starts[index])
            for index in range(first, last)
        )
