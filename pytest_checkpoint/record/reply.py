"""What a stopped call is answered with: a reply, or an exception where there is none."""

from __future__ import annotations

import errno
import os
from typing import Final, NamedTuple

from pytest_checkpoint.record import kernel


class Value(NamedTuple):
    """The call was carried out here and returns this."""

    value: int = 0


DONE: Final = Value()


class Failure(NamedTuple):
    """The call fails with this errno."""

    error: int


class Descriptor(NamedTuple):
    """The call returns a descriptor for this open file of ours, which is closed here afterwards."""

    descriptor: int
    close_on_exec: bool


Reply = Value | Failure | Descriptor

_THE_CALLERS_OWN: Final = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EACCES,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ESRCH,
        errno.EBADF,
        errno.EFAULT,
        errno.ENXIO,
    }
)
"""Errors that the kernel gives to the caller as well. Others are ours, and are not hidden."""


class PassOn(Exception):
    """Not ours to carry out: let the kernel do it, and record nothing."""


class Fails(Exception):
    """The call fails with this error, as it would in the kernel."""

    def __init__(self, error: int) -> None:
        super().__init__(os.strerror(error))
        self.error = error


class Unobservable(Exception):
    """The process hides its descriptors or memory from us: what it does cannot be recorded."""


class CannotRecord(Exception):
    """What happened cannot be written down: the run ends here, with this sentence."""


def failing(error: OSError) -> Exception:
    """What to raise when something of the caller's was not found."""
    return Fails(error.errno) if error.errno in _THE_CALLERS_OWN else error


def answer(listener: kernel.Listener, notification: kernel.Notification, reply: Reply) -> None:
    """Let the caller go on with it."""
    if isinstance(reply, Value):
        listener.answer(notification, reply.value)
    elif isinstance(reply, Failure):
        listener.fail(notification, reply.error)
    else:
        error = listener.answer_descriptor(notification, *reply)
        if error:
            listener.fail(notification, error)
