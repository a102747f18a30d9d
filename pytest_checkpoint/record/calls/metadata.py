"""Calls that change mode, owner, times and extended attributes of a recorded file or directory."""

from __future__ import annotations

import os
import stat
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record.caller import AT_FDCWD, Caller, PassOn, signed
from pytest_checkpoint.record.operations import Effect, SetAttribute, SetMode, SetOwner, SetTime
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import Failure, Reply, Value
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_AT_SYMLINK_NOFOLLOW: Final = 0x100
_AT_EMPTY_PATH: Final = 0x1000
_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_VALUE_MOST: Final = 65536


@dataclass(frozen=True, slots=True)
class _Target:
    """A recorded inode and a path of ours that leads to it, links not followed."""

    node: NodeId
    path: bytes


def _at(
    recorder: Recorder,
    caller: Caller,
    call: str,
    where: tuple[int, int, bool],
    change: Callable[[_Target], Effect],
) -> Reply:
    """``where``: directory descriptor, address of the path, whether to follow a final link."""
    place = caller.place(where[0], caller.string(where[1]), follow=where[2])
    try:
        status = place.lookup()
        node = _node(recorder, status)
        if node is None:
            raise PassOn
        target = _Target(node, place.path_through_descriptor())
        return _change(recorder, caller, call, target, change)
    finally:
        place.close()


def _of_descriptor(
    recorder: Recorder,
    caller: Caller,
    call: str,
    number: int,
    change: Callable[[_Target], Effect],
) -> Reply:
    node = _node(recorder, caller.descriptor_status(number))
    if node is None:
        raise PassOn
    copy = caller.copy(number)
    try:
        return _change(recorder, caller, call, _Target(node, b"/proc/self/fd/%d" % copy), change)
    finally:
        os.close(copy)


def _node(recorder: Recorder, status: os.stat_result | None) -> NodeId | None:
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return recorder.tree.directory((status.st_dev, status.st_ino))
    return recorder.tree.file(status)


def _change(
    recorder: Recorder,
    caller: Caller,
    call: str,
    target: _Target,
    change: Callable[[_Target], Effect],
) -> Reply:
    recorder.catch_up(caller)
    path = recorder.tree.path(target.node)
    try:
        with caller.rights():
            effect = change(target)
    except OSError as error:
        recorder.record(caller, call, path, error=number_of(error))
        return Failure(number_of(error))
    recorder.record(caller, call, path, effect)
    return Value()


def _follows(target: _Target) -> bool:
    """Magic links to a descriptor must be followed, names must not (they were resolved)."""
    return target.path.count(b"/") == 4


# --- mode ---


def _mode(mode: int) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        os.chmod(target.path, mode & 0o7777)  # a final link cannot stand here, see chmod(2)
        return SetMode(target.node, mode & 0o7777)

    return change


def chmod(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    where = (AT_FDCWD, arguments[0], True)
    return _at(recorder, caller, "chmod", where, _mode(arguments[1]))


def fchmod(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    return _of_descriptor(recorder, caller, "fchmod", arguments[0], _mode(arguments[1]))


def fchmodat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    where = (arguments[0], arguments[1], True)
    return _at(recorder, caller, "fchmodat", where, _mode(arguments[2]))


def fchmodat2(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    flags = arguments[3] & 0xFFFFFFFF
    if flags & _AT_EMPTY_PATH and not caller.string(arguments[1]):
        return _of_descriptor(recorder, caller, "fchmodat2", arguments[0], _mode(arguments[2]))
    if flags & _AT_SYMLINK_NOFOLLOW:
        place = caller.place(arguments[0], caller.string(arguments[1]), follow=False)
        try:
            status = place.lookup()
        finally:
            place.close()
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise PassOn  # the kernel refuses it: links have no mode
    where = (arguments[0], arguments[1], True)
    return _at(recorder, caller, "fchmodat2", where, _mode(arguments[2]))


# --- owner ---


def _owner(user: int, group: int) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        os.chown(target.path, signed(user), signed(group), follow_symlinks=_follows(target))
        now = os.stat(target.path, follow_symlinks=_follows(target))
        return SetOwner(target.node, now.st_uid, now.st_gid)

    return change


def chown(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    where = (AT_FDCWD, arguments[0], True)
    return _at(recorder, caller, "chown", where, _owner(arguments[1], arguments[2]))


def lchown(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    where = (AT_FDCWD, arguments[0], False)
    return _at(recorder, caller, "lchown", where, _owner(arguments[1], arguments[2]))


def fchown(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _owner(arguments[1], arguments[2])
    return _of_descriptor(recorder, caller, "fchown", arguments[0], change)


def fchownat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    flags = arguments[4] & 0xFFFFFFFF
    change = _owner(arguments[2], arguments[3])
    if flags & _AT_EMPTY_PATH and not caller.string(arguments[1]):
        return _of_descriptor(recorder, caller, "fchownat", arguments[0], change)
    where = (arguments[0], arguments[1], not flags & _AT_SYMLINK_NOFOLLOW)
    return _at(recorder, caller, "fchownat", where, change)


# --- times ---

Stamp = tuple[int, int]
"""(seconds, nanoseconds), the latter may be UTIME_NOW or UTIME_OMIT."""


def _times(stamps: tuple[Stamp, Stamp] | None) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        follow = _follows(target)
        before = os.stat(target.path, follow_symlinks=follow)
        if stamps is None:
            os.utime(target.path, follow_symlinks=follow)
        else:
            accessed = _nanoseconds(stamps[0], before.st_atime_ns)
            changed = _nanoseconds(stamps[1], before.st_mtime_ns)
            os.utime(target.path, ns=(accessed, changed), follow_symlinks=follow)
        return SetTime(target.node, os.stat(target.path, follow_symlinks=follow).st_mtime_ns)

    return change


def _nanoseconds(stamp: Stamp, unchanged: int) -> int:
    if stamp[1] == _UTIME_OMIT:
        return unchanged
    if stamp[1] == _UTIME_NOW:
        return time.time_ns()
    return stamp[0] * 1_000_000_000 + stamp[1]


def _stamps(caller: Caller, address: int, unit: int) -> tuple[Stamp, Stamp] | None:
    """Two pairs of 64-bit numbers; ``unit``: nanoseconds per second unit of the second one."""
    if not address:
        return None
    numbers = struct.unpack("=4q", caller.memory([(address, 32)]))
    return (numbers[0], numbers[1] * unit), (numbers[2], numbers[3] * unit)


def utimensat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    directory, path, address, flags = arguments[:4]
    change = _times(_stamps(caller, address, 1))
    if not path or (flags & _AT_EMPTY_PATH and not caller.string(path)):
        return _of_descriptor(recorder, caller, "utimensat", directory, change)
    where = (directory, path, not flags & _AT_SYMLINK_NOFOLLOW)
    return _at(recorder, caller, "utimensat", where, change)


def utimes(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _times(_stamps(caller, arguments[1], 1000))
    return _at(recorder, caller, "utimes", (AT_FDCWD, arguments[0], True), change)


def futimesat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _times(_stamps(caller, arguments[2], 1000))
    if not arguments[1]:
        return _of_descriptor(recorder, caller, "futimesat", arguments[0], change)
    return _at(recorder, caller, "futimesat", (arguments[0], arguments[1], True), change)


def utime(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    stamps = None
    if arguments[1]:
        accessed, changed = struct.unpack("=2q", caller.memory([(arguments[1], 16)]))
        stamps = ((accessed, 0), (changed, 0))
    return _at(recorder, caller, "utime", (AT_FDCWD, arguments[0], True), _times(stamps))


# --- extended attributes ---


def _set_attribute(caller: Caller, name: int, value: int, size: int, flags: int) -> Callable[
    [_Target], Effect
]:
    if size > _VALUE_MOST:
        raise PassOn
    key = caller.string(name)
    data = bytes(caller.memory([(value, size)]))

    def change(target: _Target) -> Effect:
        follow = _follows(target)
        os.setxattr(target.path, key, data, flags & 0xFFFFFFFF, follow_symlinks=follow)
        return SetAttribute(target.node, key, data)

    return change


def _remove_attribute(caller: Caller, name: int) -> Callable[[_Target], Effect]:
    key = caller.string(name)

    def change(target: _Target) -> Effect:
        os.removexattr(target.path, key, follow_symlinks=_follows(target))
        return SetAttribute(target.node, key, None)

    return change


def setxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _set_attribute(caller, *arguments[1:5])
    return _at(recorder, caller, "setxattr", (AT_FDCWD, arguments[0], True), change)


def lsetxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _set_attribute(caller, *arguments[1:5])
    return _at(recorder, caller, "lsetxattr", (AT_FDCWD, arguments[0], False), change)


def fsetxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _set_attribute(caller, *arguments[1:5])
    return _of_descriptor(recorder, caller, "fsetxattr", arguments[0], change)


def removexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _at(recorder, caller, "removexattr", (AT_FDCWD, arguments[0], True), change)


def lremovexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _at(recorder, caller, "lremovexattr", (AT_FDCWD, arguments[0], False), change)


def fremovexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _of_descriptor(recorder, caller, "fremovexattr", arguments[0], change)
