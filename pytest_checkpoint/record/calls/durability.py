"""Calls that make things durable, and shared mappings.

The machine under the tests stays up, so nothing is really flushed: a sync of a recorded file
succeeds at once and is written down. What it would have made durable is the power-loss models'
business.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Final

from pytest_checkpoint.record.caller import Caller, is_regular, signed
from pytest_checkpoint.record.calls.data import writable
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Sync
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import DONE, PassOn, Reply
from pytest_checkpoint.record.tracked import identity_of
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_PROT_WRITE: Final = 2
_MS_SYNC: Final = 4
_MAP_ANONYMOUS: Final = 0x20


def fsync(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _sync_one(recorder, caller, "fsync", arguments[0], data_only=False)


def fdatasync(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _sync_one(recorder, caller, "fdatasync", arguments[0], data_only=True)


def _sync_one(
    recorder: Recorder, caller: Caller, call: str, number: int, *, data_only: bool
) -> Reply:
    status = caller.descriptor_status(number)
    node: NodeId | None = None
    if is_regular(status):
        node = recorder.tree.file(status)
    elif stat.S_ISDIR(status.st_mode):
        node = recorder.tree.directory(identity_of(status))
    if node is None:
        if identity_of(status) in recorder.tree.beside:
            return DONE
        raise PassOn
    path = recorder.tree.path(node)
    recorder.intend(caller, call, path, deed=Deed.SYNC, node=node)
    recorder.record(caller, call, path, Sync(node, data_only))
    return DONE


def sync(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Never fails: it has no way of saying so."""
    recorder.catch_up(caller)
    recorder.record(caller, "sync", b"", Sync(None, data_only=False))
    return DONE


def syncfs(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    status = caller.descriptor_status(arguments[0])
    if status.st_dev not in recorder.tree.devices:
        raise PassOn
    recorder.intend(caller, "syncfs", b"", deed=Deed.SYNC)
    recorder.record(caller, "syncfs", b"", Sync(None, data_only=False))
    return DONE


def mmap(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Notified for shared mappings; one of a recorded file begins to be watched."""
    number = signed(arguments[4])
    if number < 0 or arguments[3] & _MAP_ANONYMOUS:
        raise PassOn
    copy = caller.copy(number)
    try:
        status = os.fstat(copy)
        node = recorder.file(status)
        if node is None:
            # Also one that is readable only yet: mprotect makes it more than that.
            if writable(fcntl.fcntl(copy, fcntl.F_GETFL)):
                recorder.policy.written(status, b"/proc/self/fd/%d" % copy)
            raise PassOn
    finally:
        os.close(copy)
    if arguments[2] & _PROT_WRITE:
        recorder.begin_mapping(caller, "mmap", node, number)
    else:
        recorder.shared_readable = True
    raise PassOn


def mprotect(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """A shared mapping that was read-only may become writable."""
    if recorder.shared_readable:
        start, length = arguments[:2]
        for identity, node in _mapped_in(recorder, caller, start, start + length):
            recorder.begin_mapping(caller, "mprotect", node, _descriptor_of(caller, identity))
    raise PassOn


def msync(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    start, length, flags = arguments[:3]
    if flags & _MS_SYNC:
        for _, node in _mapped_in(recorder, caller, start, start + length):
            path = recorder.tree.path(node)
            recorder.intend(caller, "msync", path, deed=Deed.SYNC, node=node)
            recorder.record(caller, "msync", path, Sync(node, data_only=True))
    raise PassOn


def _mapped_in(
    recorder: Recorder, caller: Caller, start: int, end: int
) -> list[tuple[tuple[int, int], NodeId]]:
    """Recorded files that the caller maps shared in a range of its addresses."""
    found: dict[tuple[int, int], NodeId] = {}
    try:
        with open(f"/proc/{caller.thread}/maps", "rb") as lines:
            for line in lines:
                fields = line.split(None, 5)
                low, high = (int(part, 16) for part in fields[0].split(b"-"))
                if low >= end or high <= start or b"s" not in fields[1]:
                    continue
                major, minor = (int(part, 16) for part in fields[3].split(b":"))
                identity = (os.makedev(major, minor), int(fields[4]))
                node = recorder.tree.by_identity(identity)
                if node is not None:
                    found[identity] = node
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            raise PassOn from error
        raise
    return list(found.items())


def _descriptor_of(caller: Caller, identity: tuple[int, int]) -> int | None:
    """Some descriptor of the caller for the file, if it is still open."""
    folder = f"/proc/{caller.thread}/fd"
    try:
        for name in os.listdir(folder):
            try:
                status = os.stat(f"{folder}/{name}")
            except FileNotFoundError:
                continue  # closed by another thread meanwhile
            if (status.st_dev, status.st_ino) == identity:
                return int(name)
    except OSError:
        return None
    return None
