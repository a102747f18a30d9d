"""What a power loss may leave of the content of one inode.

A :class:`Window` holds the changes of one inode from the first that is not durable. Among them may
be durable ones: a write through O_DSYNC, or one after a failed sync; these are always kept.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from pytest_checkpoint.record.operations import Truncate, Write
from pytest_checkpoint.states.effects import changed_content
from pytest_checkpoint.states.power_loss.changes import DataChange
from pytest_checkpoint.tree.content import BLOCK_BYTES, Content

MOST_PER_KIND: Final = 24
"""Of a long window only so many prefixes, and so many of each other kind, are tried."""


class Kind(enum.StrEnum):
    """How an inode's unsynced changes come out. The value is part of a loss's name."""

    KEPT = "kept"
    LOST = "lost"
    ZEROS = "zeros"
    """Grown to the final size, the writes lost: zeros in what is new."""
    PADDED = "padded"
    """All kept, and zeros behind up to the next block boundary."""
    ZEROS_PADDED = "zeros-padded"
    FIRST = "first"
    """The first so many changes."""
    WITHOUT = "without"
    """The blocks of one write as before it, all others as at the end."""
    HEAD = "head"
    """One write cut at a block boundary in its middle, none after it."""
    TAIL = "tail"
    """As WITHOUT, but only in the first half of the blocks of one write."""
    ZERO_TAIL = "zero-tail"
    """Before a truncate, but the tail of what was to be its last block zeroed already."""


class Shape(NamedTuple):
    """One outcome. ``number`` counts the unsynced changes, from 1; 0 where the kind needs none."""

    kind: Kind
    number: int = 0

    @property
    def code(self) -> str:
        return f"{self.kind}-{self.number}" if self.number else str(self.kind)


KEPT: Final = Shape(Kind.KEPT)
LOST: Final = Shape(Kind.LOST)
ZEROS: Final = Shape(Kind.ZEROS)


class Window:
    """The unsynced content of one inode after one step."""

    def __init__(self, base: Content, changes: Sequence[DataChange], step: int) -> None:
        """``base``: the content before the first of ``changes``, which is durable."""
        self._base: Final = base
        self._changes: Final = changes
        self._durable: Final = [change.durable_at <= step for change in changes]
        self._places: Final = [i for i, durable in enumerate(self._durable) if not durable]
        """Of the pending changes among all."""
        self.kept: Final = changes[-1].content
        self._contents: dict[Shape, Content] = {KEPT: self.kept}

    @property
    def pending(self) -> list[DataChange]:
        """The changes that may be lost, in program order."""
        return [self._changes[place] for place in self._places]

    def content(self, shape: Shape) -> Content:
        """The bytes of that outcome, which is one of :meth:`shapes`, LOST or ZEROS."""
        found = self._contents.get(shape)
        if found is None:
            found = self._contents[shape] = self._build(shape)
        return found

    def shapes(self) -> Iterator[Shape]:
        """What to try, most telling first; nothing twice, but different ones may look the same."""
        yield LOST
        yield ZEROS
        count = len(self._places)
        for number in sample(range(count - 1, 0, -1)):
            yield Shape(Kind.FIRST, number)
        if count > 1:
            for number in sample(range(count, 0, -1)):
                if isinstance(self._effect(number), Write):
                    yield Shape(Kind.WITHOUT, number)
        for number in sample(range(count, 0, -1)):
            effect = self._effect(number)
            if isinstance(effect, Write) and len(_blocks(effect)) > 1:
                yield Shape(Kind.HEAD, number)
                yield Shape(Kind.TAIL, number)
            elif isinstance(effect, Truncate) and effect.size % BLOCK_BYTES:
                yield Shape(Kind.ZERO_TAIL, number)
        if self.kept.size % BLOCK_BYTES and self._grown_by_writing():
            yield Shape(Kind.PADDED)
            yield Shape(Kind.ZEROS_PADDED)

    def explains(self, found: Content) -> bool:
        """Whether the model allows these bytes: all combinations of blocks and sizes count."""
        if found == self.kept:
            return True
        truncates = [i for i in self._places if isinstance(self._changes[i].effect, Truncate)]
        ends = [*truncates, len(self._changes)]
        return any(self._explains_until(found, end) for end in ends)

    # Building.

    def _effect(self, number: int) -> object:
        return self._changes[self._places[number - 1]].effect

    def _replay(self, keep: Callable[[int], bool]) -> Content:
        content = self._base
        for place, change in enumerate(self._changes):
            if self._durable[place] or keep(place):
                content = changed_content(content, change.effect)
        return content

    def _grown_by_writing(self) -> bool:
        """A truncate sets the size that it was given, and no other one is ever on disk for it."""
        truncated = self._replay(self._is_truncate)
        return self.kept.size > max(truncated.size, self.content(LOST).size)

    def _is_truncate(self, place: int) -> bool:
        return isinstance(self._changes[place].effect, Truncate)

    def _build(self, shape: Shape) -> Content:
        match shape.kind:
            case Kind.KEPT:
                return self.kept
            case Kind.LOST:
                return self._replay(lambda place: False)
            case Kind.ZEROS:
                return self._replay(self._is_truncate).truncate(self.kept.size)
            case Kind.PADDED:
                return self.kept.truncate(_rounded(self.kept.size))
            case Kind.ZEROS_PADDED:
                return self.content(ZEROS).truncate(_rounded(self.kept.size))
            case Kind.FIRST:
                return self._first(shape.number)
            case Kind.WITHOUT | Kind.TAIL:
                return self._without(shape)
            case Kind.HEAD:
                return self._head(shape.number)
            case Kind.ZERO_TAIL:
                return self._zero_tail(shape.number)

    def _first(self, number: int) -> Content:
        last = self._places[number - 1]
        return self._through(last) if any(self._durable) else self._changes[last].content

    def _through(self, last: int) -> Content:
        """All up to that place, and what is durable after it."""
        return self._replay(lambda place: place <= last)

    def _without(self, shape: Shape) -> Content:
        place = self._places[shape.number - 1]
        effect = self._changes[place].effect
        assert isinstance(effect, Write)
        blocks = _blocks(effect)
        if shape.kind is Kind.TAIL:
            blocks = blocks[: len(blocks) // 2]
        before = self._replay(lambda other: other < place or self._is_truncate(other))
        return _with_blocks(self.kept, before, blocks)

    def _head(self, number: int) -> Content:
        place = self._places[number - 1]
        effect = self._changes[place].effect
        assert isinstance(effect, Write)
        blocks = _blocks(effect)
        cut = blocks[len(blocks) // 2] * BLOCK_BYTES - effect.offset
        content = self._base
        for index, change in enumerate(self._changes):
            if index == place:
                content = content.write(effect.offset, memoryview(effect.data)[:cut])
            elif index < place or self._durable[index]:
                content = changed_content(content, change.effect)
        return content

    def _zero_tail(self, number: int) -> Content:
        place = self._places[number - 1]
        effect = self._changes[place].effect
        assert isinstance(effect, Truncate)
        before = self._replay(lambda other: other < place)
        return before.zero(effect.size, _rounded(effect.size) - effect.size, keep_size=True)

    # Membership.

    def _explains_until(self, found: Content, end: int) -> bool:
        """With no change from ``end`` on, and all truncates before it."""
        contents = self._prefixes(end)
        if not self._size_fits(found.size, contents):
            return False
        touched = {
            block
            for change in self._changes
            for block in _touched(change, max(found.size, self._base.size))
        }
        first = contents[0].truncate(found.size)
        blocks = sorted(block for block in touched if block * BLOCK_BYTES < found.size)
        if _with_blocks(found, first, blocks) != first:
            return False  # differs where nothing unsynced was written
        edge, ahead = self._ahead(contents, end)
        return all(
            any(_same_block(found, version, block) for version in contents)
            or (block == edge and any(_same_block(found, version, block) for version in ahead))
            for block in blocks
        )

    def _ahead(self, contents: Sequence[Content], end: int) -> tuple[int, list[Content]]:
        """What the last block that a lost truncate leaves may be already, although it is lost.

        The block stays where it is: the truncate zeroes its tail, and writes after it go into it,
        while the old size may remain. Other blocks that it cuts off are given up with the size.
        """
        if end == len(self._changes):
            return -1, []
        effect = self._changes[end].effect
        assert isinstance(effect, Truncate)
        edge, kept = divmod(effect.size, BLOCK_BYTES)
        if not kept:
            return -1, []
        ahead = [one.zero(effect.size, BLOCK_BYTES - kept, keep_size=True) for one in contents]
        for last in range(end, len(self._changes)):
            later = self._changes[last].effect
            if isinstance(later, Truncate) and later.size <= edge * BLOCK_BYTES:
                break  # gives the block up
            ahead.append(self._through(last))
        return edge, ahead

    def _prefixes(self, end: int) -> list[Content]:
        """After each prefix of the pending changes before ``end``, truncates always kept."""
        steps = [i for i in self._places if i < end and not self._is_truncate(i)]
        return [self._prefix(last, end) for last in (-1, *steps)]

    def _prefix(self, last: int, end: int) -> Content:
        return self._replay(
            lambda place: place < end and (place <= last or self._is_truncate(place))
        )

    def _size_fits(self, size: int, contents: Sequence[Content]) -> bool:
        sizes = [content.size for content in contents]
        if size in sizes:
            return True
        if size % BLOCK_BYTES:
            return False
        return any(low < size <= _rounded(high) for low, high in pairwise(sizes) if high > low)


def _rounded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def _blocks(write: Write) -> range:
    """The blocks of the file that a write of at least one byte touches."""
    return range(
        write.offset // BLOCK_BYTES, (write.offset + len(write.data) - 1) // BLOCK_BYTES + 1
    )


def _touched(change: DataChange, size: int) -> range:
    """The blocks that a change may make different; of a truncate, those behind its end."""
    effect = change.effect
    if isinstance(effect, Write):
        return _blocks(effect)
    if isinstance(effect, Truncate):
        return range(effect.size // BLOCK_BYTES, _rounded(size) // BLOCK_BYTES)
    return range(
        effect.offset // BLOCK_BYTES, _rounded(effect.offset + effect.length) // BLOCK_BYTES
    )


def _with_blocks(content: Content, source: Content, blocks: Sequence[int]) -> Content:
    """``content`` with these blocks as ``source`` has them; its size stays."""
    size = content.size
    for block in blocks:
        start = block * BLOCK_BYTES
        length = min(BLOCK_BYTES, size - start)
        if length > 0:
            content = content.write(start, source.read(start, length).ljust(length, b"\0"))
    return content


def _same_block(found: Content, version: Content, block: int) -> bool:
    start = block * BLOCK_BYTES
    length = min(BLOCK_BYTES, found.size - start)
    return found.read(start, length) == version.read(start, length).ljust(length, b"\0")


def sample(numbers: Sequence[int]) -> Sequence[int]:
    """All, or of many the first half of what may be tried, and as many of the rest, evenly."""
    if len(numbers) <= MOST_PER_KIND:
        return numbers
    near = numbers[: MOST_PER_KIND // 2]
    rest = numbers[MOST_PER_KIND // 2 :]
    count = MOST_PER_KIND - len(near)
    return [*near, *(rest[i * (len(rest) - 1) // (count - 1)] for i in range(count))]
