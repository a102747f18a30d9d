"""Calls that change with whose rights, and with which umask, files are made.

Nothing of it is recorded. It is only noted that it happened: from then on the supervisor asks, at
each call, for the caller's own user, groups and umask, which it can spare itself before.
"""

from __future__ import annotations

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import PassOn, Reply

Arguments = tuple[int, ...]


def umask(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    recorder.umask_varies = True
    raise PassOn


def user(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """setuid, setgid, setgroups and their kin."""
    recorder.user_varies = True
    recorder.tree.distrust()
    raise PassOn
