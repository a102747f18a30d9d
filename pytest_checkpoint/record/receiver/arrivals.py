"""The receiver of one execution, and how an arrival becomes an operation of its recording."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.handles import Handles
from pytest_checkpoint.record.operations import Sent
from pytest_checkpoint.record.receiver.receiver import Receiver
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.tracked import EFFECTS

ARRIVE: Final = "arrive"
"""The call that an arrival is recorded as."""


def receive(
    request: Request, slot: str, recorder: Recorder | None, stack: ExitStack
) -> Receiver | None:
    """Who takes requests while a command runs; None: nobody was asked to.

    ``recorder``: None where nothing is recorded: what arrives is received all the same.
    """
    if request.receiver is None:
        return None
    file = Path(slot, os.fsdecode(EFFECTS))
    handles = Handles()
    stack.callback(handles.close)
    receiver = Receiver(
        socket.socket(fileno=os.dup(request.receiver)),
        file,
        partial(_arrive, file, recorder, handles),
    )
    if request.lost_reply is not None and recorder is not None:
        receiver.lose_reply, receiver.on_lost = request.lost_reply.arrival, recorder.has_fired
    return stack.enter_context(receiver)


def _arrive(file: Path, recorder: Recorder | None, handles: Handles, line: bytes) -> None:
    """Kept first, then written down: at the step after it, it has arrived."""
    receiver = Caller(os.getpid(), handles)
    if recorder is not None:
        recorder.catch_up(receiver)
    with open(file, "ab") as log:
        log.write(line)
    if recorder is not None:
        recorder.record(receiver, ARRIVE, EFFECTS, Sent(line))
