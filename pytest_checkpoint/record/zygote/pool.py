"""The warm interpreters of a slot: which command is forked from which, and why others are not."""

from __future__ import annotations

import socket
from pathlib import Path

from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.zygote.command import Fresh, NotPython, python_command
from pytest_checkpoint.record.zygote.host import Host
from pytest_checkpoint.record.zygote.interpreter import Origin


class Pool:
    """Hosts by what they start; one that has given up is not tried again."""

    def __init__(self, slot: Path, lifeline: socket.socket) -> None:
        self._slot = slot
        self._lifeline = lifeline
        self._hosts: dict[Origin, Host] = {}
        self._given_up: dict[Origin, str] = {}

    @property
    def processes(self) -> set[int]:
        """Children of the server that outlive an execution."""
        return {host.process for host in self._hosts.values()}

    def run(self, request: Request) -> Result:
        """If nothing has run, ``fresh_because`` is set: a fresh process must do it."""
        try:
            command = python_command(
                request.command, request.environment, Path(request.working_directory)
            )
        except NotPython:
            return Result(fresh_because="")
        except Fresh as why:
            return Result(fresh_because=str(why))
        if command.script is not None and self._in_slot(request, command.script):
            return Result(fresh_because="its script lies in the workspace")
        origin = Origin.of(command, request)
        if origin in self._given_up:
            return Result(fresh_because=self._given_up[origin])
        if origin not in self._hosts:
            self._hosts[origin] = Host(origin, self._slot, self._lifeline)
        result = self._hosts[origin].run(request)
        if result.fresh_because is not None:
            self._given_up[origin] = result.fresh_because
            self._hosts.pop(origin).close()
        return result

    def _in_slot(self, request: Request, script: str) -> bool:
        path = Path(request.working_directory, script).resolve()
        return path.is_relative_to(self._slot.resolve())
