"""The page that a worker shares with its beater: what it is at, for the next beat.

Memory without a name. To write to it is no system call, and the beater needs nothing of the
worker's to read it. A counter that is odd while the worker writes tells a torn reading.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import Final

from checkpoint_runtime.liveness import beater

_COUNTS: Final = struct.Struct("<qqq")


class Page:
    """One such page."""

    def __init__(self, number: int, who: bytes, stage: bytes) -> None:
        """
        :param number: of the last beat.
        :param who: who beats, in JSON.
        :param stage: where it is, in JSON. The two have less than 4,000 bytes, and no NUL.
        :raises OSError: there is no such memory to be had.
        """
        self.descriptor = os.memfd_create("heartbeat", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.descriptor, beater.PAGE_BYTES)
            self._memory = mmap.mmap(self.descriptor, beater.PAGE_BYTES)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._memory[beater.NUMBER_AT : beater.NUMBER_AT + 8] = number.to_bytes(8, "little")
        self._written = 0
        self._stage_at = beater.TEXTS_AT + len(who) + 1
        self._memory[beater.TEXTS_AT : self._stage_at] = who + b"\0"
        self.stage(stage)
        self.count(0, -1, -1)

    def stage(self, stage: bytes) -> None:
        """Say where the worker is, in JSON."""
        memory = self._memory
        self._written += 2
        memory[:8] = (self._written - 1).to_bytes(8, "little")
        memory[self._stage_at : self._stage_at + len(stage) + 1] = stage + b"\0"
        memory[:8] = self._written.to_bytes(8, "little")

    def count(self, progress: int, done: int, total: int) -> None:
        """Say how far it is; -1: there is no such number."""
        _COUNTS.pack_into(self._memory, beater.COUNTS_AT, progress, done, total)

    def turn(self, turn: int) -> None:
        """Say which beater it is that beats; 0: none any more."""
        self._memory[beater.TURN_AT : beater.TURN_AT + 8] = turn.to_bytes(8, "little")

    @property
    def number(self) -> int:
        """Of the last beat."""
        return self._number_at(beater.NUMBER_AT)

    @property
    def problem(self) -> int:
        """The error number of the last beat, if that could not be written; else 0."""
        return self._number_at(beater.PROBLEM_AT)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()
        os.close(self.descriptor)

    def _number_at(self, place: int) -> int:
        return int.from_bytes(self._memory[place : place + 8], "little")
