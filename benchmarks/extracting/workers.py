"""Real processes of ``checkpoint-runtime extract``, started by a fork of one that has imported all.

To import torch and transformers takes seconds, and a killed worker is started again dozens of
times. What a fork begins with is what an interpreter has when it has imported its modules: no
thread, no connection, nothing of the work.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkpoint_runtime.command.main import main
from checkpoint_runtime.events import VARIABLE

_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER"""
LOOKS_EVERY_S: Final = 0.002


class SoakError(Exception):
    """What was promised did not hold; a sentence."""


def adopt_orphans() -> None:
    """What a worker leaves running becomes a child of this process, and is found."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def children() -> dict[int, str]:
    """Of this process, by their command lines."""
    found: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = words.decode(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
    return found


def left_behind(known: Iterable[int], within_s: float) -> dict[int, str]:
    """Children that are none of these, and do not end within so many seconds.

    A worker's helper (what beats for it) ends by itself when it finds the worker gone.
    """
    known = frozenset(known)
    ends_s = time.monotonic() + within_s
    while True:
        left = {
            process: words
            for process, words in children().items()
            if process not in known and os.waitpid(process, os.WNOHANG)[0] == 0
        }
        if not left or time.monotonic() > ends_s:
            return left
        select.select([], [], [], LOOKS_EVERY_S)


def require_one_thread() -> None:
    """A fork takes only the thread that forks along: the locks of others would stay held."""
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        names = ", ".join(thread.name for thread in threading.enumerate())
        raise SystemExit(
            f"the process that forks has {threads} threads ({names}): set OMP_NUM_THREADS=1"
        )


@dataclass
class Worker:
    """One start of one shard."""

    shard: int
    process: int
    descriptor: int
    """A pidfd."""
    events: Path
    output: Path
    begun_s: float = field(default_factory=time.monotonic)
    status: int | None = None
    """As ``waitpid`` tells it, once it has ended."""
    was_killed: bool = False
    """By :meth:`kill`, before it had ended by itself."""

    def has_ended(self) -> bool:
        if self.status is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self._ended(status)
        return self.status is not None

    def wait(self, deadline_s: float) -> None:
        """
        :raises SoakError: it did not end within so many seconds.
        """
        if not self.has_ended():
            select.select([self.descriptor], [], [], deadline_s)
            if not self.has_ended():
                raise SoakError(f"a worker did not end within {deadline_s:g} s:\n{self.said()}")

    def kill(self) -> bool:
        """SIGKILL; whether that is what ended it."""
        if not self.has_ended():
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
            _, status = os.waitpid(self.process, 0)
            self._ended(status)
        assert self.status is not None
        self.was_killed = os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL
        return self.was_killed

    def require_well(self) -> None:
        """
        :raises SoakError: it ended by itself, and not well.
        """
        assert self.status is not None
        if self.status:
            code = os.waitstatus_to_exitcode(self.status)
            raise SoakError(f"a worker ended with {code}:\n{self.said()}")

    def lines(self) -> list[str]:
        """Of its events: whole ones."""
        text = self.events.read_text() if self.events.exists() else ""
        return text.splitlines()

    def started(self) -> list[str]:
        """Batches, in order."""
        return [name for word, _, name in map(_parted, self.lines()) if word == "start"]

    def done(self) -> list[str]:
        """Batches, as they were acknowledged."""
        return [name for word, _, name in map(_parted, self.lines()) if word == "done"]

    def open(self) -> Counter[str]:
        """Batches that it has begun and not acknowledged."""
        return Counter(self.started()) - Counter(self.done())

    def taken_up(self) -> int:
        """Batches that it has acknowledged and not begun."""
        return (Counter(self.done()) - Counter(self.started())).total()

    def said(self) -> str:
        return self.output.read_text(errors="replace")[-2000:]

    def _ended(self, status: int) -> None:
        self.status = status
        os.close(self.descriptor)


def start(
    shard: int, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, number: int
) -> Worker:
    """Fork one.

    :param arguments: of ``checkpoint-runtime``.
    :param folder: for its events and its output.
    :param number: of this start; no other has it.
    """
    events, output = folder / f"{number:04}.events", folder / f"{number:04}.output"
    sys.stdout.flush()
    process = os.fork()
    if not process:
        _become(arguments, {**environment, VARIABLE: str(events)}, output)
    return Worker(shard, process, os.pidfd_open(process), events, output)


def _become(arguments: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
    """The command, with a session of its own. Does not return."""
    code = 70
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for descriptor, source in ((0, nothing), (1, target), (2, target)):
            os.dup2(source, descriptor)
        os.environ.update(environment)
        code = int(main(arguments))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition(" ")
