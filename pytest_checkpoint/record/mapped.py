"""Files mapped shared and writable: their stores are not calls, so they are looked for.

From the moment of the mapping, every file is read again at each recorded operation and compared
with what was last known; what differs was stored through the mapping before that operation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_checkpoint.tree.image import NodeId

_STRIDE = 4096


@dataclass(slots=True)
class _MappedFile:
    descriptor: int
    known: bytes


class MappedFiles:
    """All files of the recorded tree that are, or once were, mapped this way."""

    def __init__(self) -> None:
        self._files: dict[NodeId, _MappedFile] = {}
        self.unreadable: list[NodeId] = []

    def __contains__(self, node: NodeId) -> bool:
        return node in self._files

    def __bool__(self) -> bool:
        return bool(self._files)

    def nodes(self) -> list[NodeId]:
        return list(self._files)

    def add(self, node: NodeId, thread: int, number: int) -> None:
        """Begin to watch the file behind a descriptor of a stopped thread."""
        if node in self._files:
            return
        try:
            descriptor = os.open(f"/proc/{thread}/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.unreadable.append(node)
            return
        self._files[node] = _MappedFile(descriptor, _content(descriptor))

    def stores(self) -> Iterator[tuple[NodeId, int, bytes]]:
        """(node, offset, bytes) of every range that changed since last known."""
        for node, file in self._files.items():
            current = _content(file.descriptor)
            if current != file.known:
                yield from ((node, *change) for change in _changes(file.known, current))
                file.known = current

    def refresh(self, node: NodeId) -> None:
        """A call has just changed the file: that is not a store."""
        file = self._files.get(node)
        if file is not None:
            file.known = _content(file.descriptor)

    def close(self) -> None:
        for file in self._files.values():
            os.close(file.descriptor)
        self._files.clear()


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    parts = []
    offset = 0
    while offset < size:
        part = os.pread(descriptor, size - offset, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def _changes(before: bytes, after: bytes) -> Iterator[tuple[int, bytes]]:
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


def _trimmed(before: bytes, after: bytes, start: int, end: int) -> tuple[int, bytes]:
    while start < min(end, len(before)) and before[start] == after[start]:
        start += 1
    while end > start and end <= len(before) and before[end - 1] == after[end - 1]:
        end -= 1
    return start, after[start:end]
