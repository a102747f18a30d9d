"""One command that the launcher starts: in a session of its own, as it would be without it.

Standard library only, as all of the launcher.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Final, Never

_KEPT: Final = 64 << 10
"""Bytes of each stream that are told: the last."""
_KEPT_OF_AN_ANSWER: Final = 4 << 10
"""The same of a command that is run again and again, for the word that it says."""


class Launched:
    """One process that was started here, and what it prints."""

    def __init__(self, process: int, streams: tuple[int, int], *, repeated: bool) -> None:
        self.process = process
        self.begin = time.monotonic()
        self.end: float | None = None
        self.status: int | None = None
        self.stopped = False
        """It has been stopped at some time."""
        self.timed_out = False
        self.events = [events_size(), 0]
        self.kept = _KEPT_OF_AN_ANSWER if repeated else _KEPT
        self.streams = {number: bytearray() for number in streams}
        for number in streams:
            os.set_blocking(number, False)

    @property
    def ended(self) -> bool:
        return self.end is not None

    def read(self, number: int) -> bool:
        """Take all that is there now; False if that is its end."""
        kept = self.streams[number]
        while True:
            try:
                data = os.read(number, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            kept += data
            del kept[: -self.kept]

    def told(self) -> dict[str, Any]:
        status = self.status
        exited = status is not None and os.WIFEXITED(status)
        signalled = status is not None and os.WIFSIGNALED(status)
        end = time.monotonic() if self.end is None else self.end
        output, errors = (kept.decode(errors="surrogateescape") for kept in self.streams.values())
        return {
            "exit_code": os.WEXITSTATUS(status) if exited and status is not None else None,
            "signal": os.WTERMSIG(status) if signalled and status is not None else None,
            "timed_out": self.timed_out,
            "begin": self.begin,
            "end": end,
            "output": output,
            "error_output": errors,
            "events_before": self.events[0],
            "events_after": self.events[1],
        }


def become(
    command: dict[str, Any],
    environment: dict[bytes, bytes],
    gate: tuple[int, int] | None,
    output: int,
    errors: int,
) -> Never:
    """In the child: never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        if gate is not None:
            os.close(gate[1])
            os.read(gate[0], 1)
        os.chdir(command["cwd"])
        own = {os.fsencode(name): os.fsencode(text) for name, text in command["variables"].items()}
        os.execvpe(command["argv"][0], command["argv"], environment | own)
    except BaseException as error:  # noqa: BLE001 - told, whatever it is
        os.write(2, f"{command['argv'][0]} cannot be started: {error}\n".encode())
    finally:
        os._exit(127)


def inherited() -> dict[bytes, bytes]:
    """The environment as it was given to us: Python adds to its own where the locale is C."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    return {key: value for key, _, value in pairs}


def events_size() -> int:
    """Of the events file, in bytes; 0: there is none."""
    try:
        return os.stat(os.environ["CHECKPOINT_EVENTS"]).st_size
    except (KeyError, FileNotFoundError):
        return 0
