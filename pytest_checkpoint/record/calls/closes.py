"""close, in the runs in which it is watched.

A recorded file's data may turn out to be lost only when it is closed: some file systems write back
no sooner, and tell it there. What a close does on this machine is nothing that a crash could undo:
it is recorded without effects. Where it fails the descriptor stays open, which Linux does not do.
"""

from __future__ import annotations

import fcntl
import os

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls.data import writable
from pytest_checkpoint.record.faults import CLOSE
from pytest_checkpoint.record.injector import Deed
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import PassOn, Reply

Arguments = tuple[int, ...]


def close(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """Of a recorded file that was opened for writing; all others are passed on."""
    copy = caller.copy(arguments[0])
    try:
        node = recorder.file(os.fstat(copy))
        if node is None or not writable(fcntl.fcntl(copy, fcntl.F_GETFL)):
            raise PassOn
    finally:
        os.close(copy)  # before the caller goes on: it may be the last but this one
    path = recorder.tree.path(node)
    recorder.intend(caller, CLOSE, path, deed=Deed.CLOSE, node=node)
    recorder.record(caller, CLOSE, path)
    raise PassOn
