"""One execution whose workspace, a copy, stands in the place of what it is a copy of.

Programs store absolute paths, and a resume that follows them must meet the copy. So the supervisor
of that execution, and the job below it, live in a mount namespace of their own (as root; else in a
user namespace, in which a user may mount), in which the copy is mounted over the directory. Nobody
else ever sees that, and it goes with the last process of the namespace, however that ends. What
lies below the mount cannot be reached by its path at all; by other paths (a second mount, the root
of another process) the policy still knows it, and refuses to have it changed.
"""

from __future__ import annotations

import os
import socket
from functools import partial
from pathlib import Path
from typing import Final

from pytest_checkpoint.record import kernel, launch
from pytest_checkpoint.record.launch import CannotStart, Limits, Started
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.room import system
from pytest_checkpoint.record.room.mounted import enter_namespaces
from pytest_checkpoint.record.supervisor import carry_out

_NOT_ALLOWED: Final = (
    "the copy cannot be mounted in the place of the directory here ({error}): a container needs "
    "--cap-add SYS_ADMIN, or a kernel that lets users make namespaces"
)


def supervise_in_place(request: Request, slot: str, lifeline: socket.socket) -> Result:
    """As :func:`supervise`. ``not_in_place`` in the result: nothing has run, and none will here."""
    kernel.become_subreaper()
    limits = launch.raise_own_limits()
    start = partial(_start, request, slot, limits)
    try:
        return carry_out(request, slot, lifeline, start, set())
    except CannotStart as why:
        return Result(not_in_place=str(why))


def _start(request: Request, slot: str, limits: Limits) -> Started:
    """When stock was taken of the original too: the mount hides it from us as well."""
    assert request.copy_of is not None
    try:
        enter_namespaces()
        system.make_mounts_private()
        system.mount_again(os.fsencode(Path(slot, "w")), os.fsencode(request.copy_of))
    except OSError as error:
        raise CannotStart(_NOT_ALLOWED.format(error=error.strerror)) from error
    return launch.start(request, limits)
