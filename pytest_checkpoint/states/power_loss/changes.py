"""The two kinds of changes that a power loss may undo."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record.operations import Allocate, Operation, Truncate, Write
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import NodeId

NEVER: Final = sys.maxsize
"""A step after all others."""

Slot = tuple[NodeId, bytes]
"""A name in a directory."""

DataEffect = Write | Truncate | Allocate


@dataclass(slots=True, eq=False)
class NameChange:
    """What one operation did to names, all at once."""

    index: int
    """Its place among all name changes of the recording."""
    operation: Operation
    slots: Mapping[Slot, NodeId | None]
    """What each name it touched led to afterwards; None: nothing."""
    durable_at: int = NEVER
    """The step that made it durable."""

    @property
    def step(self) -> int:
        return self.operation.step

    @property
    def directories(self) -> set[NodeId]:
        return {directory for directory, _ in self.slots}


@dataclass(slots=True, eq=False)
class DataChange:
    """What one effect did to the content of one inode."""

    operation: Operation
    effect: DataEffect
    content: Content
    """After it, with all changes before it."""
    durable_at: int = NEVER
    refused: bool = False
    """A failed sync has left it behind: later ones do not persist it."""

    @property
    def step(self) -> int:
        return self.operation.step

    @property
    def sets_size(self) -> bool:
        """Whether it is a change of the inode itself, and of no data block."""
        return not isinstance(self.effect, Write)
