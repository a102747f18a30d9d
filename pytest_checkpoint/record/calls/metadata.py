"""Calls that change mode, owner, times and extended attributes of a recorded file or directory."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import AT_FDCWD, Caller, signed
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.operations import Effect, SetAttribute, SetMode, SetOwner, SetTime
from pytest_checkpoint.record.recorder import Recorder, number_of
from pytest_checkpoint.record.reply import DONE, Failure, PassOn, Reply
from pytest_checkpoint.record.room.ledger import attribute_size
from pytest_checkpoint.tree.image import NodeId

Arguments = tuple[int, ...]

_AT_SYMLINK_NOFOLLOW: Final = 0x100
_AT_EMPTY_PATH: Final = 0x1000
_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_VALUE_MOST: Final = 65536


@dataclass(frozen=True, slots=True)
class _Target:
    """A recorded inode and a path of ours that leads to it, also if it is a symbolic link."""

    node: NodeId
    path: bytes


def _at(
    recorder: Recorder,
    caller: Caller,
    call: str,
    where: tuple[int, int, bool],
    change: Callable[[_Target], Effect],
    room: int = 0,
) -> Reply:
    """``where``: directory descriptor, address of the path, whether to follow a final link.

    ``room``: what the change takes of the room for inodes.
    """
    handle = caller.handle(where[0], caller.string(where[1]), follow=where[2])
    try:
        return _change(recorder, caller, call, handle, change, room)
    finally:
        os.close(handle)


def _of_descriptor(
    recorder: Recorder,
    caller: Caller,
    call: str,
    number: int,
    change: Callable[[_Target], Effect],
    room: int = 0,
    *,
    found: bool = False,
) -> Reply:
    """``found``: it need not have been opened (O_PATH), because it stands for a path."""
    copy = caller.copy(number) if found else caller.opened(number)
    try:
        return _change(recorder, caller, call, copy, change, room)
    finally:
        os.close(copy)


def _change(
    recorder: Recorder,
    caller: Caller,
    call: str,
    descriptor: int,
    change: Callable[[_Target], Effect],
    room: int,
) -> Reply:
    before = os.fstat(descriptor)
    if stat.S_ISDIR(before.st_mode):
        node = recorder.tree.directory((before.st_dev, before.st_ino))
    else:
        node = recorder.tree.file(before)
        room = room if stat.S_ISREG(before.st_mode) else 0  # others have no such attributes
    if node is None:
        recorder.policy.changed(before)
        raise PassOn
    shown = recorder.tree.path(node)
    recorder.intend(caller, call, shown, deed=Deed.ATTRIBUTES, node=node, length=room)
    try:
        effects = [change(_Target(node, b"/proc/self/fd/%d" % descriptor))]
    except OSError as error:
        recorder.record(caller, call, shown, error=number_of(error))
        return Failure(number_of(error))
    now = os.fstat(descriptor)
    if now.st_mode != before.st_mode and not isinstance(effects[0], SetMode):
        effects.append(SetMode(node, stat.S_IMODE(now.st_mode)))  # chown clears bits, an ACL sets
    recorder.record(caller, call, shown, *effects)
    return DONE


# --- mode ---


def _mode(mode: int) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        os.chmod(target.path, mode & 0o7777)
        now = os.stat(target.path)  # without the bits that the caller may not set
        return SetMode(target.node, stat.S_IMODE(now.st_mode))

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
        change = _mode(arguments[2])
        return _of_descriptor(recorder, caller, "fchmodat2", arguments[0], change, found=True)
    if flags & _AT_SYMLINK_NOFOLLOW:
        handle = caller.handle(arguments[0], caller.string(arguments[1]), follow=False)
        try:
            if stat.S_ISLNK(os.fstat(handle).st_mode):
                raise PassOn  # the kernel refuses it: links have no mode
        finally:
            os.close(handle)
    where = (arguments[0], arguments[1], True)
    return _at(recorder, caller, "fchmodat2", where, _mode(arguments[2]))


# --- owner ---


def _owner(user: int, group: int) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        os.chown(target.path, _number(user), _number(group))
        now = os.stat(target.path)
        return SetOwner(target.node, now.st_uid, now.st_gid)

    return change


def _number(owner: int) -> int:
    """As Python wants it: -1 leaves the owner as it is, all else is not negative."""
    owner &= 0xFFFFFFFF
    return -1 if owner == 0xFFFFFFFF else owner


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
        return _of_descriptor(recorder, caller, "fchownat", arguments[0], change, found=True)
    where = (arguments[0], arguments[1], not flags & _AT_SYMLINK_NOFOLLOW)
    return _at(recorder, caller, "fchownat", where, change)


# --- times ---

Stamp = tuple[int, int]
"""(seconds, nanoseconds), the latter may be UTIME_NOW or UTIME_OMIT."""


def _times(stamps: tuple[Stamp, Stamp] | None) -> Callable[[_Target], Effect]:
    def change(target: _Target) -> Effect:
        kernel.set_times(target.path, stamps)
        return SetTime(target.node, os.stat(target.path).st_mtime_ns)

    return change


def _stamps(caller: Caller, address: int, unit: int) -> tuple[Stamp, Stamp] | None:
    """Two pairs of 64-bit numbers; ``unit``: nanoseconds per second unit of the second one."""
    if not address:
        return None
    numbers = struct.unpack("=4q", caller.memory([(address, 32)]))
    for fraction in (numbers[1], numbers[3]):
        special = unit == 1 and fraction in (_UTIME_NOW, _UTIME_OMIT)
        if not special and not 0 <= fraction * unit < 1_000_000_000:
            raise PassOn  # the kernel refuses it
    return (numbers[0], numbers[1] * unit), (numbers[2], numbers[3] * unit)


def utimensat(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    directory, path, address, flags = arguments[:4]
    change = _times(_stamps(caller, address, 1))
    if not path or (flags & _AT_EMPTY_PATH and not caller.string(path)):
        found = bool(path)
        return _of_descriptor(recorder, caller, "utimensat", directory, change, found=found)
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


def _set_attribute(
    caller: Caller, name: int, value: int, size: int, flags: int
) -> tuple[Callable[[_Target], Effect], int]:
    """What sets it, and what it takes of the room for inodes."""
    if size > _VALUE_MOST:
        raise PassOn
    key = caller.string(name)
    data = bytes(caller.memory([(value, size)]))

    def change(target: _Target) -> Effect:
        os.setxattr(target.path, key, data, signed(flags))
        return SetAttribute(target.node, key, data)

    return change, attribute_size(key, size)


def _remove_attribute(caller: Caller, name: int) -> Callable[[_Target], Effect]:
    key = caller.string(name)

    def change(target: _Target) -> Effect:
        os.removexattr(target.path, key)
        return SetAttribute(target.node, key, None)

    return change


def setxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change, room = _set_attribute(caller, *arguments[1:5])
    return _at(recorder, caller, "setxattr", (AT_FDCWD, arguments[0], True), change, room)


def lsetxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change, room = _set_attribute(caller, *arguments[1:5])
    return _at(recorder, caller, "lsetxattr", (AT_FDCWD, arguments[0], False), change, room)


def fsetxattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change, room = _set_attribute(caller, *arguments[1:5])
    return _of_descriptor(recorder, caller, "fsetxattr", arguments[0], change, room)


def removexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _at(recorder, caller, "removexattr", (AT_FDCWD, arguments[0], True), change)


def lremovexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _at(recorder, caller, "lremovexattr", (AT_FDCWD, arguments[0], False), change)


def fremovexattr(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    change = _remove_attribute(caller, arguments[1])
    return _of_descriptor(recorder, caller, "fremovexattr", arguments[0], change)
