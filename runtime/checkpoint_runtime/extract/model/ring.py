"""Host buffers that are filled again and again."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from checkpoint_runtime.extract.errors import ExtractError


class HostBuffer:
    """Memory for one file."""

    def __init__(self, memory: Any) -> None:
        """
        :param memory: a tensor of bytes, contiguous.
        """
        self.memory = memory
        self.size: int = memory.numel()
        # Not through numpy: not everybody has it. The array keeps the tensor alive.
        array: Any = (ctypes.c_ubyte * self.size).from_address(memory.data_ptr())
        array.owner = memory
        self.view = memoryview(array).cast("B")


class Ring:
    """A few host buffers. One is given out until it is given back; threads may share it."""

    def __init__(self, count: int, size: int, allocate: Callable[[int], Any]) -> None:
        """
        :param count: of buffers.
        :param size: of each, in bytes. One grows when more is asked for.
        :param allocate: makes a tensor of so many bytes.
        """
        self._allocate = allocate
        self._count = count
        self._free = [HostBuffer(allocate(size)) for _ in range(count)]
        self._changed = threading.Condition()
        self._closed = False

    def take(self, size: int, wait_s: float | None) -> HostBuffer:
        """A free one of at least that size, in bytes.

        :param wait_s: how long to wait until one is given back; None: as long as it takes.
        :raises ExtractError: none was, or there is no memory for so large a one.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._free or self._closed, wait_s)
            if self._closed:
                raise ExtractError("the extraction has ended: there are no buffers any more")
            if not self._free:
                raise ExtractError(
                    f"none of the {self._count} host buffers became free within {wait_s:g} "
                    "seconds: what is extracted is not staged as fast, or not at all"
                )
            buffer = max(self._free, key=lambda free: (free.size >= size, -free.size))
            self._free.remove(buffer)
        if buffer.size >= size:
            return buffer
        try:
            return HostBuffer(self._allocate(size))
        except RuntimeError as error:
            self.give(buffer)
            raise ExtractError(
                f"there is no memory for a batch of {size} bytes on this host: lower "
                f"--batch-tokens: {error!s:.200}"
            ) from error

    def give(self, buffer: HostBuffer) -> None:
        """It may be filled again."""
        with self._changed:
            if not self._closed:
                self._free.append(buffer)
                self._changed.notify()

    def close(self) -> None:
        """Whoever waits for a buffer is told."""
        with self._changed:
            self._closed = True
            self._free.clear()
            self._changed.notify_all()
