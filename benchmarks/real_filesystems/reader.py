"""Mount one device state after another and read the writer's directory in each."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.real_filesystems.device_log import DeviceWrite, Entry
from benchmarks.real_filesystems.filesystems import FileSystem
from benchmarks.real_filesystems.images import DeviceState
from benchmarks.real_filesystems.kernel import unmount
from benchmarks.real_filesystems.loop import LoopDevice
from benchmarks.real_filesystems.run import TREE, nonzero_ranges
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.image import Image

_GRAIN: Final = 1 << 16


class Unmountable(Exception):
    """The file system refuses a device state: a sentence."""


class StateReader:
    """A loop device of its own while the ``with`` block lasts, for the states of one run.

    The states must come in the order of their prefixes: they are put together as they go. The
    device is a memory file, patched where the log or the last mount changed it.
    """

    def __init__(
        self, system: FileSystem, base: bytes, entries: Sequence[Entry], folder: Path
    ) -> None:
        self._system: Final = system
        self._base: Final = base
        self._entries: Final = entries
        self._folder: Final = folder

    def __enter__(self) -> Self:
        size = len(self._base)
        self._whole = mmap.mmap(-1, size)
        """The device as it is after the prefix."""
        self._prefix = 0
        self._image = os.memfd_create(f"validate-models-{os.getpid()}-state", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._image, size)
            self._device = mmap.mmap(self._image, size)
            for start, end in nonzero_ranges(self._base):
                self._whole[start:end] = self._base[start:end]
            self._ranges = _merged([*nonzero_ranges(self._base), *_written(self._entries)])
            self._loop = LoopDevice(self._image, direct=False).__enter__()
        except BaseException:
            os.close(self._image)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._loop.__exit__(kind, value, trace)
        finally:
            self._device.close()
            self._whole.close()
            os.close(self._image)

    def read(self, state: DeviceState) -> Image:
        """The writer's directory; :class:`Unmountable` if there is no file system to be had."""
        self._put_together(state)
        try:
            self._system.mount(self._loop.path, self._folder, read_only=True)
        except OSError as error:
            raise Unmountable(f"mount: {error.strerror}") from error
        try:
            return capture(self._folder / TREE).image
        except HarnessError as error:
            raise Unmountable(str(error)) from error
        finally:
            unmount(self._folder)

    def _put_together(self, state: DeviceState) -> None:
        if state.prefix < self._prefix:
            raise HarnessError("device states must come in the order of their prefixes")
        for entry in self._entries[self._prefix : state.prefix]:
            _apply(self._whole, entry)
        self._prefix = state.prefix
        self._clear_others()
        for start, end in self._ranges:
            self._device[start:end] = self._whole[start:end]
        for index in state.extra:
            _apply(self._device, self._entries[index])
        if state.cut is not None:
            index, length = state.cut
            _apply(self._device, self._entries[index], length)

    def _clear_others(self) -> None:
        """What the last mount wrote where else there are zeros: there the file has no holes now."""
        covered = iter([*self._ranges, (len(self._base), len(self._base))])
        start, end = next(covered)
        for low, high in _data_ranges(self._image, len(self._base)):
            at = low
            while at < high:
                while end <= at and start < len(self._base):
                    start, end = next(covered)
                if at < start:
                    stop = min(high, start)
                    self._device[at:stop] = bytes(stop - at)
                    at = stop
                else:
                    at = min(high, end)


def _apply(device: mmap.mmap, entry: Entry, length: int | None = None) -> None:
    if isinstance(entry, DeviceWrite):
        data = entry.data[:length]
        device[entry.offset : entry.offset + len(data)] = data


def _written(entries: Iterable[Entry]) -> Iterator[tuple[int, int]]:
    for entry in entries:
        if isinstance(entry, DeviceWrite):
            start = entry.offset // _GRAIN * _GRAIN
            end = -(-(entry.offset + len(entry.data)) // _GRAIN) * _GRAIN
            yield start, end


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _data_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    at = 0
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # a hole up to the end
            return
        at = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, at
