"""Calls that signal a process: to the job's own they go on, to others they are refused.

Only those with a signal come here: signal 0, which asks whether a process is there, does no harm.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from pytest_checkpoint.record.caller import Caller, signed
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import Fails, PassOn, Reply

Arguments = tuple[int, ...]

_TO_GROUP: Final = 4  # PIDFD_SIGNAL_PROCESS_GROUP


def kill(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    target, number = signed(arguments[0]), signed(arguments[1])
    if target == 0:  # its own group, in the session that was made for the job
        raise PassOn
    if target == -1:
        recorder.belonging.to_all(caller, number)
    if target < 0:
        recorder.belonging.to_group(caller, -target, number)
    recorder.belonging.to_process(caller, target, number)


def to_first(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """tkill and rt_sigqueueinfo: the first argument names it, the second is the signal."""
    recorder.belonging.to_process(caller, signed(arguments[0]), signed(arguments[1]))


def to_thread(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    """tgkill and rt_tgsigqueueinfo: a process, a thread of it, the signal."""
    recorder.belonging.to_process(caller, signed(arguments[0]), signed(arguments[2]))


def pidfd_send_signal(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    target, number = _behind(caller, arguments[0]), signed(arguments[1])
    if arguments[3] & _TO_GROUP:
        try:
            group = os.getpgid(target)
        except ProcessLookupError as error:
            raise Fails(errno.ESRCH) from error
        recorder.belonging.to_group(caller, group, number)
    recorder.belonging.to_process(caller, target, number)


def _behind(caller: Caller, number: int) -> int:
    """The process that a descriptor is for."""
    copy = caller.copy(number)
    try:
        with open(f"/proc/self/fdinfo/{copy}", "rb") as lines:
            told = dict(line.split(b":", 1) for line in lines if b":" in line)
    finally:
        os.close(copy)
    process = int(told.get(b"Pid", b"0"))
    if process < 0:
        raise Fails(errno.ESRCH)
    if not process:  # no such descriptor, or a process that is out of sight: as the kernel says
        raise PassOn
    return process
