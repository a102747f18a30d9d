"""Calls that change with whose rights, which umask and which limit of size files are made.

Nothing of it is recorded. It is only noted that it happened: from then on the supervisor asks, at
each call, for the caller's own user, groups, umask and limit, which it can spare itself before.
"""

from __future__ import annotations

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import PassOn, Reply

Arguments = tuple[int, ...]


def umask(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    recorder.umask_varies = True
    raise PassOn


def file_size_limit(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """setrlimit and prlimit of RLIMIT_FSIZE."""
    recorder.size_limit_varies = recorder.asks_for_size_limit = True
    raise PassOn


def user(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """setuid, setgid, setgroups and their kin."""
    recorder.user_varies = True
    recorder.tree.distrust()
    raise PassOn
