"""Who holds a workspace, in words: written into the lock file for whoever comes second.

It is only told, never believed: whether the workspace is held, the lock alone says.
"""

from __future__ import annotations

import datetime
import json
import os
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from checkpoint_runtime.processes import boot_id, start_ticks
from checkpoint_runtime.texts import printable, shortened

LONGEST_BYTES: Final = 4096
_BEGINNING: Final = b'{"pid": '
_COMMAND_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process that works, or has worked, in a workspace."""

    pid: int
    started: int | None
    """Clock ticks since the system was started: tells it from a later process of that number."""
    boot: str
    host: str
    command: str
    since: str
    """ISO 8601, UTC."""

    @classmethod
    def this_process(cls) -> Owner:
        return cls(
            pid=os.getpid(),
            started=start_ticks(os.getpid()),
            boot=boot_id(),
            host=os.uname().nodename,
            command=_command(),
            since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    @property
    def is_plausible(self) -> bool:
        """Whether it may be at work still: of a process of this machine that can be looked up."""
        if self.host != os.uname().nodename:
            return True
        return self.boot == boot_id() and self.started == start_ticks(self.pid)

    @property
    def is_this_process(self) -> bool:
        return (
            self.pid == os.getpid()
            and self.host == os.uname().nodename
            and self.boot == boot_id()
            and self.started == start_ticks(self.pid)
        )

    def words(self) -> str:
        """For a sentence: process, machine, command, and since when."""
        command = f" (`{self.command}`)" if self.command else ""
        return f"process {self.pid} on {self.host}{command}, since {self.since}"

    def line(self) -> bytes:
        """As it stands in the lock file."""
        return json.dumps(asdict(self)).encode() + b"\n"


def owner_in(content: bytes) -> Owner | None:
    """What a lock file says; None if that is nothing, or not a record."""
    line, newline, _ = content.partition(b"\n")
    if not newline:
        return None
    try:
        found: Any = json.loads(line)
        owner = Owner(**found)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (owner.boot, owner.host, owner.command, owner.since)
    whole = type(owner.pid) is int and (owner.started is None or type(owner.started) is int)
    return owner if whole and all(type(text) is str for text in texts) else None


def may_be_replaced(content: bytes) -> bool:
    """Whether a lock file holds nothing, or what a process left there: no file of somebody's."""
    return _BEGINNING.startswith(content.rstrip(b"\0")[: len(_BEGINNING)])


def _command() -> str:
    try:
        arguments = Path("/proc/self/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return shortened(printable(shlex.join(map(os.fsdecode, arguments))), _COMMAND_SHOWN)
