"""A session of pytest in a process of its own, which can be interrupted.

It is told from all others by a mark in its environment, which every process that it starts
inherits; what it was given as TMPDIR is its alone.
"""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.acceptance.sessions import Workplace

MARK = "CHECKPOINT_TEST_MARK"
DEADLINE_S = 60.0


class Started:
    """A session in a process of its own."""

    def __init__(self, workplace: Workplace, *arguments: str) -> None:
        self._path = workplace.path
        self._mark = secrets.token_hex(16)
        self.temporary = self._path / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.output = self._path / "output.txt"
        environment = {**os.environ, MARK: self._mark, "TMPDIR": str(self.temporary)}
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
            environment.pop(name, None)
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *workplace.always(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._path,
                env=environment,
                start_new_session=True,
            )

    def until_the_job_ran(self, times: int) -> None:
        """Wait until the long job was started so often."""

        def ran() -> bool:
            assert self.process.poll() is None, self.output.read_text()
            return len(self._workspaces()) >= times

        until(ran, self.output.read_text)

    def _workspaces(self) -> list[Path]:
        where = self._path / "where"
        return [Path(line) for line in where.read_text().splitlines()] if where.exists() else []

    def processes(self) -> dict[int, str]:
        """Everything with this session's mark that is alive: pid → command line."""
        wanted = f"{MARK}={self._mark}".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(folder.name)] = command
            except OSError:
                continue  # it ended just now, or is not ours
        return found

    def directories(self) -> list[Path]:
        """What is there of the kit's, the kept things aside."""
        slots = {path for one in self._workspaces() for path in (one, one.parent, one.parents[1])}
        return [*(path for path in slots if path.exists()), *self.temporary.iterdir()]

    def nothing_is_left(self, *known_too: str) -> None:
        """Deadlines apart, at once: the server of a slot sees that its client has gone.

        ``known_too``: names of what the jobs themselves make.
        """
        # Asked twice: a process may start another one and end while /proc is being read.
        until(
            lambda: not self.processes() and not self.processes(),
            lambda: f"still running: {self.processes()}",
        )
        until(lambda: not self.directories(), lambda: f"still there: {self.directories()}")
        known = {"job.sh", "quick.sh", "test_jobs.py", "tmp", "output.txt", "where", "junit.xml"}
        names = {path.name for path in self._path.iterdir()}
        assert names - known - {"__pycache__", *known_too} <= {".checkpoint-contracts"}


def until(condition: Callable[[], bool], complaint: Callable[[], str]) -> None:
    """Ask again and again, until the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, complaint()
        select.select([], [], [], 0.01)
