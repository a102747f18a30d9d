"""Where the job is soaked: one slot, whose processes are known by a mark in their environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.describe import normalized
from pytest_checkpoint.subject import Subject

JOB: Final = Path(__file__).with_name("job.py")
WAIT_S: Final = 60.0
"""Nothing in here takes so long; what does is a hang."""
_MARK: Final = "SOAK_PLACE"
_POLL_S: Final = 0.002


class SoakError(Exception):
    """What was promised did not hold; a sentence."""


class Place:
    """The slot of a client, and the job's commands in it."""

    def __init__(self, client: SlotClient) -> None:
        self.client = client
        words = (sys.executable, "-B", str(JOB))
        self.subject = Subject(
            name="soak",
            run=(*words, "run", "{workspace}"),
            resume=(*words, "resume", "{workspace}"),
            check=(*words, "check", "{workspace}"),
            capabilities=frozenset({"effects"}),
            working_directory=JOB.parent,
        )
        self.bench = Bench(client, self.subject, Options(rootdir=client.path))
        self.mark = f"{os.getpid()}-{client.port}"
        self.standing: subprocess.Popen[str] | None = None
        """The job, where a fault has left it stopped or standing still."""
        self.environment = environment(client, keep_tmpdir=False) | {_MARK: self.mark}

    def command(self, word: str) -> list[str]:
        return [sys.executable, "-B", str(JOB), word, str(self.client.workspace)]

    def start(self, word: str, **variables: str) -> subprocess.Popen[str]:
        """The job, in a process group of its own."""
        return subprocess.Popen(
            self.command(word),
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Its exit code, and what it said."""
        try:
            said, _ = process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            raise SoakError(f"{process.args!r} did not end in {WAIT_S:g} s: {said}") from None
        return process.returncode, said

    def until_events(self, count: int, process: subprocess.Popen[str]) -> None:
        """Return when the job has said so many lines, or has ended."""
        self.until(
            lambda: (
                self.client.events.read_bytes().count(b"\n") >= count or process.poll() is not None
            ),
            f"event {count}",
        )

    def until(self, holds: Callable[[], bool], what: str) -> None:
        ends = time.monotonic() + WAIT_S
        while not holds():
            if time.monotonic() > ends:
                raise SoakError(f"{what} did not come in {WAIT_S:g} s")
            threading.Event().wait(_POLL_S)  # then it is looked at again

    def let_go(self) -> None:
        """What was stopped when it had said that it is finished goes on to its end."""
        process, self.standing = self.standing, None
        if process is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGCONT)
            self.finish(process)

    # --- what is there ---

    def result(self) -> str:
        done = subprocess.run(
            self.command("check"),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
        )
        if done.returncode:
            raise SoakError(f"the check says: {done.stdout}{done.stderr}".strip())
        return done.stdout

    def effects(self) -> Counter[str]:
        return Counter(self.client.effects.read_text().splitlines())

    def names(self) -> Counter[str]:
        """Of all files and folders, without the numbers in them."""
        return Counter(
            normalized(str(path.relative_to(self.client.path)))
            for root in (self.client.workspace, self.client.temporary)
            for path in root.rglob("*")
        )

    def processes(self) -> dict[int, str]:
        """Those with our mark that still live, and their command lines."""
        marked = f"{_MARK}={self.mark}".encode()
        found: dict[int, str] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if marked in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(folder.name)] = words.decode(errors="replace").strip()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # ended meanwhile, or somebody else's
        return found
