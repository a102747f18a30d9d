"""The supervisor of warm executions: it owns one interpreter, and carries out requests in turn.

A process of its own below the server, alive as long as its interpreter. The children that the
interpreter forks become *its* children, since it is the nearest subreaper: so it is the ancestor of
every process of the subject, as the supervisor of a fresh execution is.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import traceback
from functools import partial
from pathlib import Path
from typing import Never

from pytest_checkpoint.record import family, kernel, launch
from pytest_checkpoint.record.launch import CannotStart
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.supervisor import carry_out
from pytest_checkpoint.record.zygote.command import Fresh, PythonCommand, python_command
from pytest_checkpoint.record.zygote.interpreter import Interpreter, Origin

_ENDED = (
    "the process that warm starts are supervised by has ended (killed, perhaps by lack of memory)"
)


class Host:
    """The server's end of one."""

    def __init__(self, origin: Origin, slot: Path, lifeline: socket.socket) -> None:
        ours, theirs = socket.socketpair()
        server = os.getpid()
        self.process = os.fork()
        if not self.process:
            ours.close()
            _serve_and_exit(theirs, origin, slot, lifeline, server)
        theirs.close()
        self._socket = ours
        self._lines = ours.makefile("rb")

    def run(self, request: Request) -> Result:
        """``fresh_because`` in the result: it was not carried out, and none will be here."""
        try:
            self._socket.sendall(request.dump() + b"\n")
            line = self._lines.readline()
        except (BrokenPipeError, ConnectionResetError):
            line = b""
        return Result.load(line) if line else Result(fresh_because=_ENDED)

    def close(self) -> None:
        """Wait for its end: it has nothing to do any more."""
        self._lines.close()
        self._socket.close()
        os.waitpid(self.process, 0)


def _serve_and_exit(
    channel: socket.socket, origin: Origin, slot: Path, lifeline: socket.socket, server: int
) -> Never:
    try:
        kernel.die_with_parent(server)
        kernel.become_subreaper()
        with channel:
            _serve(channel, origin, slot, lifeline)
    finally:
        os._exit(0)


def _serve(channel: socket.socket, origin: Origin, slot: Path, lifeline: socket.socket) -> None:
    spared: set[int] = set()
    interpreter = Interpreter(origin, launch.raise_own_limits(), slot, spared)
    began = False
    try:
        for line in channel.makefile("rb"):
            request = Request.load(line)
            if not began:
                interpreter.begin(request.learned)
                began = True
            interpreter.renew()
            start = partial(interpreter.start, _parsed(request), request)
            result = carry_out(request, str(slot), lifeline, start, spared)
            result = dataclasses.replace(
                result, warm=interpreter.story, made_first=interpreter.made_first
            )
            channel.sendall(result.dump() + b"\n")
    except (Fresh, CannotStart) as why:
        _give_up(channel, str(why))
    except OSError as error:
        _give_up(channel, f"this machine refused what a warm start needs ({error})")
    except Exception:  # noqa: BLE001 - told to the server
        _give_up(channel, f"the supervisor of warm starts failed:\n{traceback.format_exc()}")
    finally:
        family.end_descendants()


def _parsed(request: Request) -> PythonCommand:
    return python_command(request.command, request.environment, Path(request.working_directory))


def _give_up(channel: socket.socket, why: str) -> None:
    try:
        channel.sendall(Result(fresh_because=why).dump() + b"\n")
    except BrokenPipeError:
        return  # the server has gone
