"""Start a command under the filter, and end whole process trees."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Final, Never

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.request import Request

_HANDSHAKE_S: Final = 30.0


@dataclass(slots=True)
class Started:
    """The root process of the subject and our ends of what connects us to it."""

    process: int
    listener: int | None
    output: int
    error_output: int


def start(request: Request) -> Started:
    """Fork, go under the filter, exec. HarnessError with a sentence if that is not possible."""
    ours, theirs = socket.socketpair()
    output = os.pipe()
    error_output = os.pipe()
    process = os.fork()
    if not process:
        _become(request, theirs, output[1], error_output[1])
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


def _become(request: Request, theirs: socket.socket, output: int, error_output: int) -> Never:
    """In the child: never returns, never raises."""
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(error_output, 2)
        os.chdir(request.working_directory)
        if request.filtered:
            listener = kernel.install_filter()
            socket.send_fds(theirs, [b"."], [listener])
        else:
            theirs.send(b".")
        os.execvpe(request.command[0], request.command, request.environment)
    except BaseException as error:
        try:
            theirs.send(b"!" + _why(request, error).encode(errors="replace")[:4000])
        finally:
            os._exit(127)


def _why(request: Request, error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        return (
            "another seccomp listener already stands above this process, and Linux allows only "
            "one: run pytest outside that tracer"
        )
    return f"{request.command[0]} cannot be started: {error}"


# --- ending ---


def end_descendants() -> None:
    """SIGKILL every descendant of this process, until none is left, and reap them.

    This process is a subreaper, so whoever loses its parent becomes its child.
    """
    while True:
        for process in descendants():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def descendants() -> list[int]:
    """All processes below this one, by /proc."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent_of(int(name))
            if parent is not None:
                parents.setdefault(parent, []).append(int(name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


def _stat(process: int) -> list[bytes] | None:
    """Fields of /proc/PID/stat after the name, the state first; None if it has gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _parent_of(process: int) -> int | None:
    fields = _stat(process)
    return int(fields[1]) if fields else None


def user_cpu_of_descendants() -> float:
    """User CPU seconds of all living descendants and of what they have waited for."""
    ticks = 0
    for process in descendants():
        fields = _stat(process)
        if fields:
            ticks += int(fields[11]) + int(fields[13])
    return ticks / os.sysconf("SC_CLK_TCK")


def redirect_own_output() -> None:
    """The supervisor must never write into the terminal: only its result speaks."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - lives as long as we do
