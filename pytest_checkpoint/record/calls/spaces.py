"""Calls that ask how much room there is: where there is a quota, they are told of that."""

from __future__ import annotations

import os
import stat
from typing import Final

from pytest_checkpoint.record.caller import AT_FDCWD, Caller
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import DONE, PassOn, Reply
from pytest_checkpoint.record.room import system
from pytest_checkpoint.record.room.limits import Shortage
from pytest_checkpoint.record.room.quota import Quota

Arguments = tuple[int, ...]

BLOCK: Final = 4096


def statfs(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    handle = caller.handle(AT_FDCWD, caller.string(arguments[0]), follow=True)
    try:
        return _tell(recorder, caller, handle, arguments[1])
    finally:
        os.close(handle)


def fstatfs(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    copy = caller.copy(arguments[0])
    try:
        return _tell(recorder, caller, copy, arguments[1])
    finally:
        os.close(copy)


def _tell(recorder: Recorder, caller: Caller, descriptor: int, address: int) -> Reply:
    for trouble in recorder.troubles:
        if isinstance(trouble, Shortage):
            trouble.look()
    quota = next((one for one in recorder.troubles if isinstance(one, Quota)), None)
    if quota is None or not _is_under(recorder, quota, os.fstat(descriptor)):
        raise PassOn
    recorder.catch_up(caller)
    told = system.file_system_status(descriptor)
    space, inodes = quota.space(), quota.inodes()
    if space is not None:
        told.blocks_of(BLOCK, space[0] // BLOCK, space[1] // BLOCK)
    if inodes is not None:
        told.files, told.free_files = inodes
    caller.put(address, bytes(told))
    return DONE


def _is_under(recorder: Recorder, quota: Quota, status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode):
        return recorder.tree.directory((status.st_dev, status.st_ino)) in quota
    return recorder.tree.file(status) in quota
