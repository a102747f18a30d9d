"""The bytes of a file, as an immutable value that is cheap to change a little.

A :class:`Content` is a tree of fixed blocks of 4 KiB under branches of 16. A write makes new blocks
only where it lands and shares all others with the version before, so keeping one version per
operation costs memory in proportion to what was written. Blocks are slices of the caller's buffer
where possible: a write of 200 MB copies nothing. What was never written, or was zeroed, takes no
memory and is told apart, so that a restored file can have holes there.

Digests are those of the bytes and the size alone, however the content came about: each block and
branch remembers its own, so after a small write only one path of the tree is hashed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

Buffer = bytes | memoryview

BLOCK_BITS: Final = 12
BLOCK_BYTES: Final = 1 << BLOCK_BITS
FANOUT_BITS: Final = 4
FANOUT: Final = 1 << FANOUT_BITS
DIGEST_BYTES: Final = 16

_ZERO_DIGEST: Final = bytes(DIGEST_BYTES)
_ZERO_BRANCH: Final = _ZERO_DIGEST * FANOUT


class _Block:
    """Up to 4 KiB. A shorter one is followed by zeros."""

    __slots__ = ("_digest", "data")

    def __init__(self, data: Buffer) -> None:
        self.data: Final = data
        self._digest: bytes | None = None

    @property
    def digest(self) -> bytes:
        if self._digest is None:
            data = self.data
            if data and not data[-1]:  # zeros at the end are the same as none stored
                data = bytes(data).rstrip(b"\0")
            self._digest = (
                blake2b(data, digest_size=DIGEST_BYTES).digest() if data else _ZERO_DIGEST
            )
        return self._digest


class _Branch:
    """16 equal spans, each a block or a branch, None where there are only zeros."""

    __slots__ = ("_digest", "children")

    def __init__(self, children: tuple[_Tree, ...]) -> None:
        self.children: Final = children
        self._digest: bytes | None = None

    @property
    def digest(self) -> bytes:
        if self._digest is None:
            joined = b"".join(
                [
                    _ZERO_DIGEST if child is None else child._digest or child.digest
                    for child in self.children
                ]
            )
            self._digest = (
                _ZERO_DIGEST
                if joined == _ZERO_BRANCH
                else blake2b(joined, digest_size=DIGEST_BYTES).digest()
            )
        return self._digest


_Tree = _Block | _Branch | None
_NOTHING: Final[tuple[_Tree, ...]] = (None,) * FANOUT


class Content:
    """The bytes of one file. Equal when the bytes are. The buffers given must never change."""

    __slots__ = ("_digest", "_level", "_root", "size")

    def __init__(self, root: _Tree, level: int, size: int) -> None:
        """For this module only; others begin with :meth:`empty` or :meth:`of`."""
        self._root: Final = root
        self._level: Final = level
        self.size: Final = size
        """In bytes."""
        self._digest: bytes | None = None

    @staticmethod
    def empty() -> Content:
        return _EMPTY

    @staticmethod
    def of(data: Buffer) -> Content:
        return _EMPTY.write(0, data)

    def write(self, offset: int, data: Buffer) -> Content:
        """With ``data`` at ``offset``; a gap between the old end and ``offset`` is zeros."""
        length = len(data)
        if not length:
            return self  # as write(2) of nothing: the file does not grow
        if length > BLOCK_BYTES:
            data = memoryview(data)
        elif length < BLOCK_BYTES and not isinstance(data, bytes):
            data = bytes(data)  # smaller than the view that would point at it
        size = max(self.size, offset + length)
        level = _level(size)
        return Content(_put(self._lifted(level), level, offset, data), level, size)

    def truncate(self, size: int) -> Content:
        """Cut, or grown with zeros, to ``size`` bytes."""
        if size == self.size:
            return self
        level = _level(size)
        if size > self.size:
            return Content(self._lifted(level), level, size)
        root = _cut(self._root, self._level, size)
        for _ in range(self._level - level):
            root = root.children[0] if isinstance(root, _Branch) else None
        return Content(root, level, size)

    def zero(self, offset: int, length: int, *, keep_size: bool) -> Content:
        """With zeros in the range; without ``keep_size`` the file grows to the range's end."""
        end = offset + length
        grown = self if keep_size or end <= self.size else self.truncate(end)
        cleared = _clear(grown._root, grown._level, offset, min(end, grown.size))
        return Content(cleared, grown._level, grown.size)

    def allocate(self, offset: int, length: int) -> Content:
        """Grown, if need be, to the end of the range: fallocate(2) without flags."""
        return self.truncate(max(self.size, offset + length))

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """At most ``length`` bytes from ``offset``; all that follow if ``length`` is None."""
        end = self.size if length is None else min(self.size, offset + length)
        if offset >= end:
            return b""
        found = bytearray(end - offset)
        for start, data in _blocks(self._root, self._level, 0, offset, end):
            first = max(start, offset)
            last = min(start + len(data), end)
            if first < last:
                found[first - offset : last - offset] = data[first - start : last - start]
        return bytes(found)

    def chunks(self) -> Iterator[tuple[int, Buffer]]:
        """Offset and bytes of what is stored, in order; all else up to ``size`` is zeros."""
        return _blocks(self._root, self._level, 0, 0, self.size)

    @property
    def digest(self) -> bytes:
        """16 bytes, the same for the same bytes, however they were written."""
        if self._digest is None:
            root = _ZERO_DIGEST if self._root is None else self._root.digest
            size = self.size.to_bytes(8, "little")
            self._digest = blake2b(size + root, digest_size=DIGEST_BYTES).digest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return self is other or (self.size == other.size and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Content of {self.size} bytes>"

    def _lifted(self, level: int) -> _Tree:
        """The root as it stands in a tree that is ``level`` branches high."""
        root = self._root
        for _ in range(level - self._level):
            root = None if root is None else _Branch((root, *_NOTHING[1:]))
        return root


_EMPTY: Final = Content(None, 0, 0)


def _level(size: int) -> int:
    """How many branches high a tree of ``size`` bytes is: digests depend on it, so on size only."""
    level = 0
    while size > BLOCK_BYTES << (FANOUT_BITS * level):
        level += 1
    return level


def _child_bits(level: int) -> int:
    """Bytes spanned by one child of a branch at ``level``, as a power of two."""
    return BLOCK_BITS + FANOUT_BITS * (level - 1)


def _put(tree: _Tree, level: int, offset: int, data: Buffer) -> _Tree:
    if not isinstance(tree, _Branch) and level == 0:
        return _put_in_block(tree, offset, data)
    children: list[_Tree] = [*(tree.children if isinstance(tree, _Branch) else _NOTHING)]
    bits = _child_bits(level)
    end = offset + len(data)
    for index in range(offset >> bits, ((end - 1) >> bits) + 1):
        base = index << bits
        first = max(offset, base)
        last = min(end, base + (1 << bits))
        piece = data[first - offset : last - offset]
        children[index] = _put(children[index], level - 1, first - base, piece)
    return _Branch(tuple(children))


def _put_in_block(block: _Block | None, offset: int, data: Buffer) -> _Block:
    old: Buffer = b"" if block is None else block.data
    if offset == 0 and len(data) >= len(old):
        return _Block(data)
    before = old[:offset]
    gap = bytes(offset - len(before))
    return _Block(b"".join((before, gap, data, old[offset + len(data) :])))


def _cut(tree: _Tree, level: int, size: int) -> _Tree:
    """The first ``size`` bytes."""
    if tree is None or size == 0:
        return None
    if isinstance(tree, _Block):
        return tree if len(tree.data) <= size else _Block(tree.data[:size])
    bits = _child_bits(level)
    index = (size - 1) >> bits
    last = _cut(tree.children[index], level - 1, size - (index << bits))
    return _Branch((*tree.children[:index], last, *_NOTHING[index + 1 :]))


def _clear(tree: _Tree, level: int, start: int, end: int) -> _Tree:
    """Zeros from ``start`` to ``end``, which may lie outside of the tree's span."""
    if tree is None or start >= end:
        return tree
    if isinstance(tree, _Block):
        if start <= 0 and end >= len(tree.data):
            return None
        first = max(0, start)
        last = min(end, len(tree.data))
        if first >= last:
            return tree
        return _Block(b"".join((tree.data[:first], bytes(last - first), tree.data[last:])))
    bits = _child_bits(level)
    children = list(tree.children)
    for index in range(max(0, start) >> bits, min(FANOUT, ((end - 1) >> bits) + 1)):
        base = index << bits
        if start <= base and end >= base + (1 << bits):
            children[index] = None
        else:
            children[index] = _clear(children[index], level - 1, start - base, end - base)
    return _Branch(tuple(children))


def _blocks(
    tree: _Tree, level: int, base: int, start: int, end: int
) -> Iterator[tuple[int, Buffer]]:
    """The stored blocks that overlap the range, whole, each with its offset in the file."""
    if tree is None:
        return
    if isinstance(tree, _Block):
        if tree.data:
            yield base, tree.data
        return
    bits = _child_bits(level)
    first = max(0, start - base) >> bits
    last = min(FANOUT - 1, (end - base - 1) >> bits)
    for index in range(first, last + 1):
        child = tree.children[index]
        if child is not None:
            yield from _blocks(child, level - 1, base + (index << bits), start, end)
