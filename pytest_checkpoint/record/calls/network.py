"""connect: what leaves this machine is refused by the policy."""

from __future__ import annotations

import socket

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.receiver.receiver import RECEIVER
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import PassOn, Reply

Arguments = tuple[int, ...]

_REACHING = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_RECEIVER = socket.inet_aton(RECEIVER)
_MOST = 128  # sizeof(struct sockaddr_storage)


def connect(recorder: Recorder, caller: Caller, arguments: Arguments) -> Reply:
    length = arguments[2] & 0xFFFFFFFF
    raw = bytes(caller.memory([(arguments[1], min(length, _MOST))]))
    family = int.from_bytes(raw[:2], "little")
    port = int.from_bytes(raw[2:4], "big")
    if port in recorder.policy.receivers and family == socket.AF_INET and raw[4:8] == _RECEIVER:
        raise PassOn  # what it answers is decided by what is recorded
    if family in _REACHING:
        recorder.policy.reaches_out = True
    if family == socket.AF_INET and len(raw) >= 8:
        recorder.policy.connect(socket.inet_ntop(socket.AF_INET, raw[4:8]), port)
    elif family == socket.AF_INET6 and len(raw) >= 24:
        recorder.policy.connect(socket.inet_ntop(socket.AF_INET6, raw[8:24]), port)
    raise PassOn
