"""Carry recorded operations out once more, in a directory of a real file system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems.kernel import sync_filesystem
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
    NodeKind,
    Operation,
    Rename,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.tree.image import ROOT, Directory, Image, NodeId

_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_CREATE_UNNAMED: Final = os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_CLOEXEC
_CHANGE: Final = os.O_RDWR | os.O_CLOEXEC


class Enactor:
    """Does the operations of one recording in ``directory``, which holds its start."""

    def __init__(
        self, directory: Path, start: Image, operations: Sequence[Operation], *, keep_open: bool
    ) -> None:
        """``keep_open``: every file stays open once it was used; else it is closed after each
        operation by :meth:`close_unused`, which some file systems take as a hint."""
        self._directory: Final = directory
        self._keep_open: Final = keep_open
        self._entries: Final = {
            number: dict(node.entries)
            for number, node in start.nodes.items()
            if isinstance(node, Directory)
        }
        self._open: dict[NodeId, int] = {}
        self._last_use: dict[NodeId, int] = {}
        for operation in operations:
            for effect in operation.effects:
                self._last_use[getattr(effect, "node", None) or ROOT] = operation.step
        self._step = 0

    def do(self, operation: Operation) -> None:
        """OSError if the file system refuses what the recorded one did not."""
        self._step = operation.step
        for effect in operation.effects:
            self._do(effect)

    def close_unused(self) -> None:
        if not self._keep_open:
            for node in [node for node in self._open if self._path(node) is not None]:
                os.close(self._open.pop(node))

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def files(self) -> list[int]:
        """Descriptors of all files that have a name or are open; the caller closes them."""
        found = [os.dup(descriptor) for descriptor in self._open.values()]
        named = {node for names in self._entries.values() for node in names.values()}
        for node in sorted(named - self._open.keys() - self._entries.keys()):
            path = self._path(node)
            if path is not None and path.is_file():
                found.append(os.open(path, _READ))
        return found

    def _do(self, effect: Effect) -> None:
        match effect:
            case Create() | CreateUnnamed() | Link() | Unlink() | Rename():
                self._change_names(effect)
            case Write() | Truncate() | Allocate():
                self._change_data(effect)
            case SetMode() | SetOwner() | SetTime() | SetAttribute():
                self._change_status(effect)
            case Sync(node=node, data_only=data_only):
                self._sync(node, data_only=data_only)
            case MapShared() | Event():
                pass

    def _change_names(self, effect: Create | CreateUnnamed | Link | Unlink | Rename) -> None:
        match effect:
            case Create():
                self._create(effect)
            case CreateUnnamed(node, mode):
                self._open[node] = os.open(self._directory, _CREATE_UNNAMED, mode)
            case Link(directory, name, node):
                self._link(node, self._path_of(directory) / os.fsdecode(name))
                self._entries[directory][name] = node
            case Unlink(directory, name):
                self._unlink(directory, name)
            case Rename():
                self._rename(effect)

    def _create(self, effect: Create) -> None:
        path = self._path_of(effect.directory) / os.fsdecode(effect.name)
        if effect.kind is NodeKind.FILE:
            descriptor = os.open(path, _CREATE, effect.mode)
            self._open[effect.node] = descriptor
        elif effect.kind is NodeKind.DIRECTORY:
            path.mkdir(effect.mode)
            self._entries[effect.node] = {}
        elif effect.kind is NodeKind.SYMLINK:
            path.symlink_to(os.fsdecode(effect.target))
        else:
            raise HarnessError(f"a {effect.kind} cannot be enacted")
        self._entries[effect.directory][effect.name] = effect.node

    def _link(self, node: NodeId, target: Path) -> None:
        source = self._path(node)
        if source is not None:
            os.link(source, target)
            return
        # Its first name. With a directory given os.link calls linkat(2), which can follow this.
        directory = os.open(target.parent, _READ)
        try:
            os.link(f"/proc/self/fd/{self._open[node]}", target.name, dst_dir_fd=directory)
        finally:
            os.close(directory)

    def _unlink(self, directory: NodeId, name: bytes) -> None:
        node = self._entries[directory][name]
        path = self._path_of(directory) / os.fsdecode(name)
        if node in self._entries:
            path.rmdir()
        else:
            self._keep_if_needed(node)
            path.unlink()
        del self._entries[directory][name]

    def _rename(self, effect: Rename) -> None:
        if effect.exchange:
            raise HarnessError("an exchange of names cannot be enacted")
        old = self._entries[effect.source_directory]
        new = self._entries[effect.target_directory]
        replaced = new.get(effect.target_name)
        if replaced is not None:
            self._keep_if_needed(replaced)
        source = self._path_of(effect.source_directory) / os.fsdecode(effect.source_name)
        source.rename(self._path_of(effect.target_directory) / os.fsdecode(effect.target_name))
        new[effect.target_name] = old.pop(effect.source_name)

    def _keep_if_needed(self, node: NodeId) -> None:
        """Its name goes: whoever uses it later has it open."""
        if node not in self._entries and self._last_use.get(node, 0) > self._step:
            self._descriptor(node)

    def _change_data(self, effect: Write | Truncate | Allocate) -> None:
        match effect:
            case Write(durable=True):
                self._write_through(effect)
            case Write():
                _write_all(self._descriptor(effect.node), effect)
            case Truncate():
                os.ftruncate(self._descriptor(effect.node), effect.size)
            case Allocate(zero=False, keep_size=False):
                os.posix_fallocate(self._descriptor(effect.node), effect.offset, effect.length)
            case Allocate():
                raise HarnessError("this kind of fallocate cannot be enacted")

    def _write_through(self, effect: Write) -> None:
        descriptor = os.open(self._path_of(effect.node), _CHANGE | os.O_DSYNC)
        try:
            _write_all(descriptor, effect)
        finally:
            os.close(descriptor)

    def _change_status(self, effect: SetMode | SetOwner | SetTime | SetAttribute) -> None:
        path = self._path_of(effect.node)
        match effect:
            case SetMode():
                path.chmod(effect.mode)
            case SetOwner():
                os.chown(path, effect.user, effect.group, follow_symlinks=False)
            case SetTime():
                times = (effect.mtime_ns, effect.mtime_ns)
                os.utime(path, ns=times, follow_symlinks=False)
            case SetAttribute():
                raise HarnessError("extended attributes cannot be enacted")

    def _sync(self, node: NodeId | None, *, data_only: bool) -> None:
        sync = os.fdatasync if data_only else os.fsync
        if node is not None and node not in self._entries:
            sync(self._descriptor(node))
            return
        descriptor = os.open(self._directory if node is None else self._path_of(node), _READ)
        try:
            if node is None:
                sync_filesystem(descriptor)
            else:
                sync(descriptor)
        finally:
            os.close(descriptor)

    def _descriptor(self, node: NodeId) -> int:
        if node not in self._open:
            self._open[node] = os.open(self._path_of(node), _CHANGE)
        return self._open[node]

    def _path_of(self, node: NodeId) -> Path:
        path = self._path(node)
        if path is None:
            raise HarnessError(f"the node {node} has no name at step {self._step}")
        return path

    def _path(self, node: NodeId) -> Path | None:
        names: list[str] = []
        while node != ROOT:
            found = next(
                (
                    (directory, name)
                    for directory, entries in self._entries.items()
                    for name, inner in entries.items()
                    if inner == node
                ),
                None,
            )
            if found is None:
                return None
            node = found[0]
            names.append(os.fsdecode(found[1]))
        return self._directory.joinpath(*reversed(names))


def _write_all(descriptor: int, write: Write) -> None:
    done = os.pwrite(descriptor, write.data, write.offset)
    if done != len(write.data):
        raise HarnessError(f"{done} of {len(write.data)} bytes were written: no room")
