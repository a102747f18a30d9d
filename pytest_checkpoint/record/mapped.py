"""Files mapped shared and writable: their stores are not calls, so they are looked for.

From the moment of the mapping, every such file is read again at each recorded operation and
compared with what was last known; what differs was stored through the mapping before that
operation. A large file is left alone again when no process maps it any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_checkpoint.tree.image import NodeId

_STRIDE: Final = 4096
_PIECE: Final = 1 << 20
_LARGE: Final = 4 << 20
"""From here on, reading a file costs more than asking who maps it."""

IsMapped = Callable[[tuple[int, int]], bool]
"""Whether some process maps the file with these (st_dev, st_ino)."""


@dataclass(slots=True)
class _MappedFile:
    descriptor: int
    known: list[bytes | bytearray]
    """Its content as far as it has been recorded, in pieces."""
    seen_mapped: bool = False
    """The call that maps it has come to its end."""

    @property
    def size(self) -> int:
        return (len(self.known) - 1) * _PIECE + len(self.known[-1]) if self.known else 0

    def put(self, start: int, data: bytes | memoryview) -> None:
        """Not beyond its end."""
        done = 0
        while done < len(data):
            index, offset = divmod(start + done, _PIECE)
            count = min(len(data) - done, _PIECE - offset)
            self._changeable(index)[offset : offset + count] = data[done : done + count]
            done += count

    def clear(self, start: int, end: int) -> None:
        """As far as it reaches."""
        while start < min(end, self.size):
            piece_end = (start // _PIECE + 1) * _PIECE
            self.put(start, bytes(min(end, self.size, piece_end) - start))
            start = piece_end

    def cut(self, size: int) -> None:
        if size < self.size:
            count, rest = divmod(size, _PIECE)
            if rest:
                del self._changeable(count)[rest:]
            del self.known[count + bool(rest) :]

    def grow(self, size: int) -> None:
        """By zeros; never shorter."""
        while self.size < size:
            if not self.known or len(self.known[-1]) == _PIECE:
                self.known.append(b"")
            last = len(self.known) - 1
            missing = min(size, (last + 1) * _PIECE) - self.size
            self._changeable(last).extend(bytes(missing))

    def _changeable(self, index: int) -> bytearray:
        piece = self.known[index]
        if not isinstance(piece, bytearray):
            piece = self.known[index] = bytearray(piece)
        return piece


class MappedFiles:
    """All files of the recorded tree that are mapped this way, as far as they are watched."""

    def __init__(self, is_mapped: IsMapped) -> None:
        self.files: dict[NodeId, _MappedFile] = {}
        """Those that are watched now."""
        self._is_mapped = is_mapped
        self._is_held: IsMapped | None = None
        self._ever: dict[NodeId, None] = {}
        self.unreadable: list[NodeId] = []

    def __contains__(self, node: NodeId) -> bool:
        return node in self.files

    def nodes(self) -> list[NodeId]:
        """Those that ever were mapped."""
        return list(self._ever)

    def let_go_of_deleted(self, is_held: IsMapped) -> None:
        """Do not watch a deleted file that nobody has any more, so that its room comes back.

        ``is_held``: whether some process has it. Asking costs time.
        """
        self._is_held = is_held

    def add(self, node: NodeId, paths: Sequence[Path]) -> None:
        """Begin to watch a file; the first of ``paths`` that can be read leads to it."""
        for path in paths:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.files[node] = _MappedFile(descriptor, list(_pieces(descriptor)))
            self._ever[node] = None
            return
        self.unreadable.append(node)

    def stores(self) -> Iterator[tuple[NodeId, int, bytes]]:
        """(node, offset, bytes) of every range that changed since last known."""
        for node, file in list(self.files.items()):
            idle = self._is_idle(file)  # asked before it is read: no store is missed
            for index, piece in enumerate(_pieces(file.descriptor)):
                before = file.known[index] if index < len(file.known) else b""
                if piece != before:
                    file.known[index : index + 1] = [piece]
                    start = index * _PIECE
                    for offset, data in _changes(before, piece):
                        yield node, start + offset, data
            if idle:
                os.close(self.files.pop(node).descriptor)

    def _is_idle(self, file: _MappedFile) -> bool:
        status = os.fstat(file.descriptor)
        if not status.st_nlink and self._is_held is not None:
            return not self._is_held((status.st_dev, status.st_ino))
        if status.st_size < _LARGE:
            return False
        if self._is_mapped((status.st_dev, status.st_ino)):
            file.seen_mapped = True
            return False
        return file.seen_mapped

    def written(self, node: NodeId, start: int, data: bytes | memoryview) -> None:
        """A call has just put ``data`` there: that is not a store.

        What lies beside it may have been stored meanwhile. So the file is not read again.
        """
        file = self.files.get(node)
        if file is not None:
            file.grow(start + len(data))
            file.put(start, data)

    def resized(self, node: NodeId, size: int) -> None:
        """A call has just given it this length."""
        file = self.files.get(node)
        if file is not None:
            file.cut(size)
            file.grow(size)

    def allocated(
        self, node: NodeId, start: int, length: int, *, zero: bool, keep_size: bool
    ) -> None:
        """A call has just made room there; see :class:`Allocate`."""
        file = self.files.get(node)
        if file is None:
            return
        if not keep_size:
            file.grow(start + length)
        if zero:
            file.clear(start, start + length)

    def close(self) -> None:
        for file in self.files.values():
            os.close(file.descriptor)
        self.files.clear()


def _pieces(descriptor: int) -> Iterator[bytes]:
    offset = 0
    while piece := os.pread(descriptor, _PIECE, offset):
        yield piece
        offset += _PIECE


def _changes(before: bytes | bytearray, after: bytes) -> Iterator[tuple[int, bytes]]:
    """Differing strides, neighbours joined, trimmed to the bytes that really differ."""
    start: int | None = None
    length = len(after)
    for offset in range(0, length, _STRIDE):
        same = before[offset : offset + _STRIDE] == after[offset : offset + _STRIDE]
        if same and start is not None:
            yield _trimmed(before, after, start, offset)
            start = None
        elif not same and start is None:
            start = offset
    if start is not None:
        yield _trimmed(before, after, start, length)


def _trimmed(before: bytes | bytearray, after: bytes, start: int, end: int) -> tuple[int, bytes]:
    while start < min(end, len(before)) and before[start] == after[start]:
        start += 1
    while end > start and end <= len(before) and before[end - 1] == after[end - 1]:
        end -= 1
    return start, after[start:end]
