"""What is done to a file system between two operations, so that it shows what it may do.

Left alone, a small writer is over before anything reaches the device. In a long-running machine a
commit of metadata or the writing back of data may come at any moment; so each is brought about at
each operation. Nothing here makes anything durable that the machine would not by itself.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems.enact import Enactor
from benchmarks.real_filesystems.filesystems import FileSystem
from benchmarks.real_filesystems.fuse_file import LoggingDisk
from benchmarks.real_filesystems.kernel import start_writeback
from pytest_checkpoint.record.operations import Operation, Sync, Write


class Kind(enum.StrEnum):
    NOTHING = "nothing"
    COMMIT = "commit"
    """An unrelated file's change of mode is synced: a commit of all pending metadata."""
    WRITEBACK = "writeback"
    """All dirty data go to the device, without a flush."""
    BOTH = "writeback, commit"
    HELD = "held writeback, commit"
    """A slow disk: data are on their way while the metadata commit."""
    HELD_CALL = "held call, commit"
    """The same with only what the operation itself sent to the device."""


@dataclass(frozen=True, slots=True)
class Plan:
    kind: Kind
    step: int | None
    """The operation to do it at; None: at each."""
    keep_open: bool
    """Files stay open; else they are closed after each operation."""

    def applies(self, operation: Operation) -> bool:
        return self.step is None or self.step == operation.step


UNRELATED: Final = "unrelated"
_MODES: Final = (0o600, 0o640)


class Provoker:
    def __init__(
        self, system: FileSystem, disk: LoggingDisk, mounted: Path, enactor: Enactor, plan: Plan
    ) -> None:
        self._system: Final = system
        self._disk: Final = disk
        self._unrelated: Final = mounted / UNRELATED
        self._enactor: Final = enactor
        self._plan: Final = plan
        self._commits = 0

    @contextmanager
    def around(self, operation: Operation) -> Iterator[None]:
        """The operation itself: the disk may hold meanwhile what it sends."""
        held = self._holds(operation)
        if held:
            self._disk.hold()
        try:
            yield
        except BaseException:
            if held:
                self._disk.release()
            raise

    def after(self, operation: Operation) -> None:
        """What comes behind it, and the end of the hold."""
        kind = self._plan.kind
        if not self._plan.applies(operation):
            return
        holds = self._holds(operation)
        if kind in (Kind.WRITEBACK, Kind.BOTH):
            self._write_back(wait=True)
        elif kind is Kind.HELD and holds:
            self._write_back(wait=False)
        try:
            if holds:
                self._disk.settle()
                self._disk.pass_new()
            if kind not in (Kind.NOTHING, Kind.WRITEBACK):
                self._commit()
        finally:
            if holds:
                self._disk.release()
        self._disk.settle()

    def _holds(self, operation: Operation) -> bool:
        if self._plan.kind not in (Kind.HELD, Kind.HELD_CALL) or not self._plan.applies(operation):
            return False
        # A call that waits for the disk would only wait for the hold to end.
        return not any(
            isinstance(effect, Sync) or (isinstance(effect, Write) and effect.durable)
            for effect in operation.effects
        )

    def _write_back(self, *, wait: bool) -> None:
        for descriptor in self._enactor.files():
            try:
                start_writeback(descriptor, wait=wait)
            finally:
                os.close(descriptor)

    def _commit(self) -> None:
        """Of metadata only: the unrelated file has no data to be written."""
        self._commits += 1
        descriptor = os.open(self._unrelated, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fchmod(descriptor, _MODES[self._commits % 2])
            self._system.commit(descriptor)
        finally:
            os.close(descriptor)
