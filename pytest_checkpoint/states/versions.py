"""What one thing of a tree was, at any tick of a history."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Generic, TypeVar

from pytest_checkpoint.tree.image import NodeId

_FEW_CHANGES: Final = 64
_Value = TypeVar("_Value")


class Versions(Generic[_Value]):
    """What one thing was, by tick."""

    __slots__ = ("_ticks", "_values")

    def __init__(self, tick: int, value: _Value) -> None:
        self._ticks = [tick]
        self._values = [value]

    def set(self, tick: int, value: _Value) -> None:
        self._ticks.append(tick)
        self._values.append(value)

    def at(self, tick: int) -> _Value | None:
        """None if it was not there yet."""
        index = bisect_right(self._ticks, tick)
        return self._values[index - 1] if index else None

    def until(self, tick: int) -> list[_Value]:
        """All that it was, in order."""
        return self._values[: bisect_right(self._ticks, tick)]

    @property
    def last(self) -> _Value:
        return self._values[-1]


class NameVersions:
    """What one directory named, by tick: now and then all of it, and the changes since.

    A snapshot is taken after as many changes as it is long, so that many changes of a large
    directory take memory in proportion to their number.
    """

    __slots__ = ("_changes", "_snapshots", "_ticks", "now")

    def __init__(self, tick: int, entries: dict[bytes, NodeId]) -> None:
        self.now = entries
        self._ticks = [tick]
        self._snapshots = [dict(entries)]
        self._changes: list[list[tuple[int, bytes, NodeId | None]]] = [[]]

    def set(self, tick: int, name: bytes, node: NodeId | None) -> None:
        """``node`` None: the name goes."""
        if node is None:
            del self.now[name]
        else:
            self.now[name] = node
        changes = self._changes[-1]
        changes.append((tick, name, node))
        if len(changes) > max(_FEW_CHANGES, len(self.now)):
            self._ticks.append(tick)
            self._snapshots.append(dict(self.now))
            self._changes.append([])

    def at(self, tick: int) -> dict[bytes, NodeId]:
        index = bisect_right(self._ticks, tick) - 1
        entries = dict(self._snapshots[index])
        for when, name, node in self._changes[index]:
            if when > tick:
                break
            if node is None:
                del entries[name]
            else:
                entries[name] = node
        return entries
