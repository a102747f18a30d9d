"""The real thing: one execution with a tmpfs of the wanted size over the limited directory.

The supervisor of that execution, and the job below it, live in a mount namespace of their own (as
root; else in a user namespace, in which a user may mount). What lay in the directory is put into
the tmpfs, and what lies there in the end is put back into the directory, under the same path. The
mount is private: nobody else ever sees it, and it goes with the last process of its namespace,
however that ends. Nothing but the directory is touched.

A store through a mapping that finds no room is a SIGBUS here, which no quota can show.
"""

from __future__ import annotations

import dataclasses
import errno
import mmap
import os
import signal
import socket
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.room import system
from pytest_checkpoint.record.room.ledger import PAGE
from pytest_checkpoint.record.room.limits import require_directory, root_path
from pytest_checkpoint.record.supervisor import supervise
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File, Image, NodeId, printable
from pytest_checkpoint.tree.restore import restore

_NOT_ALLOWED: Final = (
    "no file system may be mounted here ({error}): a container needs --cap-add SYS_ADMIN, or a "
    "kernel that lets users make namespaces"
)


class _NotToBeHad(Exception):
    """Nothing has run yet; says why."""


def supervise_mounted(request: Request, room: Room, slot: str, lifeline: socket.socket) -> Result:
    """As :func:`supervise`. ``no_real_room`` in the result: nothing has run, and none will here."""
    try:
        _require_expressible(room)
        directory = Path(slot, os.fsdecode(root_path(room)))
        require_directory(room, is_directory=directory.is_dir() and not directory.is_symlink())
        before = capture(directory).image
        _require_no_names_elsewhere(before, directory)
        _mount(room, directory)
        _fill(before, directory)
    except _NotToBeHad as why:
        return Result(no_real_room=str(why))
    except (HarnessError, OSError) as error:
        return Result(failure=f"a small file system could not be prepared: {error}")
    result = supervise(request, slot, lifeline)
    if result.failure is not None:
        return result
    try:
        _carry_back(directory)
    except (HarnessError, OSError) as error:
        return Result(failure=f"what the job left in a small file system was not saved: {error}")
    return dataclasses.replace(result, real_room=_story(room), fired_at=_fired_at(result))


def _require_expressible(room: Room) -> None:
    if room.bytes is not None:
        raise _NotToBeHad("a tmpfs counts in blocks, and this is a number of bytes")
    if room.error != errno.ENOSPC:
        raise _NotToBeHad(f"a full tmpfs says ENOSPC, not {errno.errorcode.get(room.error)}")
    if mmap.PAGESIZE != PAGE:
        raise _NotToBeHad(f"a tmpfs counts in pages, which have {mmap.PAGESIZE} bytes here")
    if room.blocks == 0 or room.inodes == 0:
        raise _NotToBeHad("for a tmpfs, nothing at all means: as much as is wanted")


def _require_no_names_elsewhere(before: Image, directory: Path) -> None:
    """Two names of one file cannot lie in two file systems."""
    names: dict[NodeId, list[bytes]] = {}
    for path, number, node in walk(before):
        if isinstance(node, File):
            names.setdefault(number, []).append(path)
    for paths in names.values():
        if os.lstat(os.path.join(os.fsencode(directory), paths[0])).st_nlink > len(paths):
            raise _NotToBeHad(f"{printable(paths[0])} has another name elsewhere, a hard link")


def _mount(room: Room, directory: Path) -> None:
    # What has no limit says that nothing is left of it; and none could be widened later.
    others = 0 if room.again_after_s is None else system.PLENTY
    limits = [f"nr_blocks={room.blocks or others}", f"nr_inodes={room.inodes or others}"]
    options = ",".join([*limits, "mode=0700", "huge=never"])
    try:
        enter_namespaces()
        system.make_mounts_private()
        system.mount_tmpfs(os.fsencode(directory), options)
    except OSError as error:
        raise _NotToBeHad(_NOT_ALLOWED.format(error=error.strerror)) from error


def enter_namespaces() -> None:
    """Of our own: of mounts, and of users where that is not allowed otherwise."""
    server = os.getppid()
    user, group = os.geteuid(), os.getegid()
    try:
        system.unshare(system.NEW_MOUNTS)
    except PermissionError:
        system.unshare(system.NEW_USER | system.NEW_MOUNTS)
        system.keep_ids(user, group)
        kernel.die_with_parent(server)  # new capabilities may have undone it


def _fill(before: Image, directory: Path) -> None:
    try:
        restore(before, directory)
    except HarnessError as error:
        system.unmount(os.fsencode(directory))
        raise _NotToBeHad(f"what lies there at the beginning does not fit in: {error}") from error


def _carry_back(directory: Path) -> None:
    after = capture(directory).image
    system.unmount(os.fsencode(directory))
    restore(after, directory)


def _fired_at(result: Result) -> int | None:
    """A store that found no room is no recorded step: it came after the last one."""
    if result.fired_at is None and result.signal == signal.SIGBUS:
        return result.steps
    return result.fired_at


def _story(room: Room) -> str:
    sizes = [
        f"{number} {what}"
        for number, what in ((room.blocks, "blocks of 4 KiB"), (room.inodes, "inodes"))
        if number is not None
    ]
    return f"a tmpfs of {' and '.join(sizes) or 'any size'} in a namespace of its own"
