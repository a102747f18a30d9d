"""Start a command under the filter."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Final, Never

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.request import Request

_HANDSHAKE_S: Final = 30.0
_RAISED: Final = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
Limits = dict[int, tuple[int, int]]


class CannotStart(Exception):
    """No process could be had this way, and nothing of the subject has run; says why."""


@dataclass(slots=True)
class Started:
    """The root process of the subject and our ends of what connects us to it."""

    process: int
    listener: int | None
    output: int
    error_output: int

    def close(self) -> None:
        for descriptor in (self.listener, self.output, self.error_output):
            if descriptor is not None:
                os.close(descriptor)


def raise_own_limits() -> Limits:
    """What the user's limits are, which the job keeps. Ours are raised as far as they may be."""
    limits = {}
    for kind in _RAISED:
        limits[kind] = resource.getrlimit(kind)
        resource.setrlimit(kind, (limits[kind][1], limits[kind][1]))
    return limits


def start(request: Request, limits: Limits) -> Started:
    """Fork, go under the filter, exec. HarnessError with a sentence if that is not possible."""
    ours, theirs = socket.socketpair()
    output = os.pipe()
    error_output = os.pipe()
    supervisor = os.getpid()
    process = os.fork()
    if not process:
        _become(request, limits, supervisor, theirs, output[1], error_output[1])
    theirs.close()
    os.close(output[1])
    os.close(error_output[1])
    with ours:
        listener = _handshake(ours, request)
    return Started(process, listener, output[0], error_output[0])


def _handshake(ours: socket.socket, request: Request) -> int | None:
    """Receive the listener, then wait for the exec, which closes the socket."""
    ours.settimeout(_HANDSHAKE_S)
    try:
        message, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
        if message.startswith(b"!"):
            raise HarnessError(message[1:].decode(errors="replace"))
        # The exec comes next: it makes no notified call, so waiting here cannot deadlock.
        refused = ours.recv(4096)
    except TimeoutError as error:
        raise HarnessError(
            f"{request.command[0]} could not be started within {_HANDSHAKE_S:.0f} s"
        ) from error
    if refused:
        raise HarnessError(refused[1:].decode(errors="replace"))
    return descriptors[0] if descriptors else None


def _become(
    request: Request,
    limits: Limits,
    supervisor: int,
    theirs: socket.socket,
    output: int,
    error_output: int,
) -> Never:
    """In the child: never returns, never raises."""
    try:
        like_a_new_process(supervisor, limits, output, error_output)
        os.chdir(request.working_directory)
        if request.filtered:
            listener = kernel.install_filter(
                closes=request.watch_closes, free_space=request.room is not None
            )
            socket.send_fds(theirs, [b"."], [listener])
        else:
            theirs.send(b".")
        os.execvpe(request.command[0], request.command, request.environment)
    except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
        try:
            theirs.send(b"!" + _why(request, error).encode(errors="replace")[:4000])
        finally:
            os._exit(127)


def like_a_new_process(parent: int, limits: Limits, output: int, error_output: int) -> None:
    """In a child: whatever a program inherits is as it would be without us."""
    os.setsid()
    kernel.die_with_parent(parent)
    for kind, limit in limits.items():
        resource.setrlimit(kind, limit)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(error_output, 2)


def _why(request: Request, error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        return (
            "another seccomp listener already stands above this process, and Linux allows only "
            "one: run pytest outside that tracer"
        )
    return f"{request.command[0]} cannot be started: {error}"


def redirect_own_output() -> None:
    """The supervisor must never write into the terminal: only its result speaks.

    Standard error already is a file of the client's, which reads it if we end unexpectedly.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - lives as long as we do
