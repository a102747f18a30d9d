"""One writer, carried out once on one file system, with all that reached its device."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems.device_log import Entry
from benchmarks.real_filesystems.enact import Enactor
from benchmarks.real_filesystems.filesystems import FileSystem
from benchmarks.real_filesystems.fuse_file import LoggingDisk, logging_disk
from benchmarks.real_filesystems.kernel import unmount
from benchmarks.real_filesystems.loop import LoopDevice
from benchmarks.real_filesystems.provoke import UNRELATED, Plan, Provoker
from benchmarks.real_filesystems.stopping import stop_if_asked
from benchmarks.real_filesystems.writers import Writer
from pytest_checkpoint.tree.image import Image
from pytest_checkpoint.tree.restore import restore

TREE: Final = "tree"
"""Where the writer works, in the root of the file system."""
MOUNTED: Final = "mounted"
"""Where the file system is mounted, in the folder of a run."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How long the device's log was right before an operation and right after it."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Run:
    writer: Writer
    plan: Plan
    base: bytes
    """The device before; all of it durable."""
    entries: Sequence[Entry]
    begin: int
    """The log's length when the writer began."""
    marks: Sequence[Mark]
    """Of step 1, 2, …"""

    def steps_at(self, position: int) -> Iterator[tuple[int, bool]]:
        """When the log was that long: how many operations were over, and whether the next one had
        begun. More than one answer if operations passed that sent nothing to the device."""
        last = len(self.marks)
        for done in range(last + 1):
            since = self.marks[done - 1].after if done else self.begin
            if since > position:
                return
            if done == last:
                yield done, False
                return
            following = self.marks[done]
            if position <= following.before:
                yield done, False
            elif position <= following.after:
                yield done, True

    def end_of(self, position: int) -> tuple[int, bool]:
        """The same for the last moment at which the log was that long."""
        done = sum(mark.after <= position for mark in self.marks)
        return done, done < len(self.marks) and self.marks[done].before <= position


@contextmanager
def mounted(system: FileSystem, device: LoopDevice, folder: Path) -> Iterator[Path]:
    system.mount(device.path, folder, read_only=False)
    try:
        yield folder
    finally:
        unmount(folder)


def prepared_device(system: FileSystem, start: Image, folder: Path) -> bytes:
    """A device with a new file system that holds the start of a writer, cleanly unmounted."""
    image = system.make_image()
    try:
        with LoopDevice(image, direct=False) as device, mounted(system, device, folder) as root:
            (root / UNRELATED).touch(0o600)
            (root / TREE).mkdir()
            restore(start, root / TREE)
        return os.pread(image, system.size_bytes, 0)
    finally:
        os.close(image)


def carry_out(system: FileSystem, base: bytes, writer: Writer, plan: Plan, folder: Path) -> Run:
    """``folder`` is empty and ours, and so again afterwards, but for what is needed below it."""
    image = os.memfd_create("device", os.MFD_CLOEXEC)
    try:
        _fill(image, base)
        with logging_disk(folder, image) as disk:
            with (
                _loop_on(disk) as device,
                mounted(system, device, _folder(folder / MOUNTED)) as root,
            ):
                begin, marks = _enact(system, disk, root, writer, plan)
            return Run(writer, plan, base, disk.entries(), begin, marks)
    finally:
        os.close(image)


@contextmanager
def _loop_on(disk: LoggingDisk) -> Iterator[LoopDevice]:
    backing = os.open(disk.path, os.O_RDWR | os.O_CLOEXEC)
    try:
        with LoopDevice(backing, direct=True) as device:
            yield device
    finally:
        os.close(backing)


def _enact(
    system: FileSystem, disk: LoggingDisk, root: Path, writer: Writer, plan: Plan
) -> tuple[int, list[Mark]]:
    enactor = Enactor(root / TREE, writer.start, writer.operations, keep_open=plan.keep_open)
    provoker = Provoker(system, disk, root, enactor, plan)
    begin = disk.settle().logged
    marks = []
    try:
        for operation in writer.operations:
            stop_if_asked()
            with provoker.around(operation):
                before = disk.position()
                enactor.do(operation)
                marks.append(Mark(before, disk.position()))
            provoker.after(operation)
            enactor.close_unused()
        disk.settle()
    finally:
        enactor.close()
    return begin, marks


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


def _fill(image: int, data: bytes) -> None:
    """Only what is not zero: memory files may have holes."""
    os.ftruncate(image, len(data))
    for start, end in nonzero_ranges(data):
        os.pwrite(image, memoryview(data)[start:end], start)


_GRAIN: Final = 1 << 16


def nonzero_ranges(data: bytes) -> Iterator[tuple[int, int]]:
    """Pieces of 64 KiB that hold something, next ones together."""
    zeros = bytes(_GRAIN)
    view = memoryview(data)
    begin = None
    for at in range(0, len(data), _GRAIN):
        if view[at : at + _GRAIN] != zeros[: len(data) - at]:
            begin = at if begin is None else begin
        elif begin is not None:
            yield begin, at
            begin = None
    if begin is not None:
        yield begin, len(data)
