"""However a session ends, nothing of it stays behind: no process, no directory but what is kept.

Sessions here are processes of their own, told from all others by a mark in their environment, which
every process that they start inherits; what they were given as TMPDIR is theirs alone.
"""

from __future__ import annotations

import os
import random
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.sessions import NEVER_CORRUPT, RESUME_EQUALS, Workplace, job

pytest_plugins = ["pytester"]

MARK = "CHECKPOINT_TEST_MARK"
DEADLINE_S = 60.0

# Says where it works in a file beside it; has a child in another session; takes long to explore.
JOB = """
echo "$1" >> "$OLDPWD/where"
for number in NUMBERS; do
    [ -e "$number" ] && continue
    setsid sh -c 'echo "$1" > "$1.tmp" && mv "$1.tmp" "$1"' sh "$number"
done
"""
# It is resumed some 100 times: there is a moment for every kill.
LONG_JOB = JOB.replace("NUMBERS", " ".join(map(str, range(1, 31))))
# Some 30 times: more often than a test waits for.
SHORTER_JOB = JOB.replace("NUMBERS", " ".join(map(str, range(1, 9))))
CHECK = "ls {workspace}"


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

    def nothing_is_left(self) -> None:
        """Deadlines apart, at once: the server of a slot sees that its client has gone."""
        # Asked twice: a process may start another one and end while /proc is being read.
        until(
            lambda: not self.processes() and not self.processes(),
            lambda: f"still running: {self.processes()}",
        )
        until(lambda: not self.directories(), lambda: f"still there: {self.directories()}")
        known = {"job.sh", "quick.sh", "test_jobs.py", "tmp", "output.txt", "where", "junit.xml"}
        names = {path.name for path in self._path.iterdir()}
        assert names - known - {"__pycache__"} <= {".checkpoint-contracts"}


@pytest.fixture
def start(workplace: Workplace) -> Iterator[Callable[..., Started]]:
    """Starts sessions; what a failed test left running of them is ended."""
    sessions: list[Started] = []

    def start_one(*arguments: str) -> Started:
        sessions.append(Started(workplace, *arguments))
        return sessions[-1]

    yield start_one
    for session in sessions:
        if session.process.poll() is None:
            session.process.kill()
        session.process.wait(DEADLINE_S)
        for process in session.processes():
            os.kill(process, signal.SIGKILL)


def until(condition: Callable[[], bool], complaint: Callable[[], str]) -> None:
    """Ask again and again, until the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, complaint()
        select.select([], [], [], 0.01)


MOMENTS = 12


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_killed_at_a_random_moment(
    workplace: Workplace, start: Callable[..., Started], seed: int
) -> None:
    """The first moments are of pytest's own start, the last ones amid the exploring.

    One in each of so many equal parts of that time: chance leaves no gap.
    """
    moment_s = 0.1 + 1.9 * (seed + random.Random(seed).random()) / MOMENTS
    session = start(*job(workplace.shell(LONG_JOB), CHECK), "--checkpoint-exhaustive")

    with pytest.raises(subprocess.TimeoutExpired):
        session.process.wait(moment_s)
    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    session.nothing_is_left()


@pytest.mark.parametrize("times", [1, 2, 5, 12])
def test_killed_while_the_job_is_running(
    workplace: Workplace, start: Callable[..., Started], times: int
) -> None:
    """In the first control run, the recording, the self-check, the exploring."""
    session = start(*job(workplace.shell(SHORTER_JOB), CHECK))
    session.until_the_job_ran(times)
    seen = session.directories()

    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    assert seen, "there was nothing to be left behind"
    session.nothing_is_left()


# Goes on for ever, with a child in another session: in its first run, or once it is resumed.
ENDLESS = """
echo "$1" >> "$OLDPWD/where"
[ -e wait ] && { setsid sleep 1000 & sleep 1000; }
: > wait
mv wait a
"""


@pytest.mark.parametrize("moment", ["first run", "resume"])
def test_killed_in_a_job_that_would_never_end(
    workplace: Workplace, start: Callable[..., Started], moment: str
) -> None:
    run = workplace.shell((": > wait" if moment == "first run" else "") + ENDLESS)
    session = start(*job(run, CHECK), "--checkpoint-deadline", "500")
    session.until_the_job_ran(1 if moment == "first run" else 4)
    until(
        lambda: list(session.processes().values()).count("sleep 1000 ") == 2,
        session.output.read_text,
    )

    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    session.nothing_is_left()


def test_the_next_session_is_as_ever(workplace: Workplace, start: Callable[..., Started]) -> None:
    """It may begin while the killed one's things are still being removed."""
    run = workplace.shell(SHORTER_JOB)
    session = start(*job(run, CHECK))
    session.until_the_job_ran(10)
    session.process.kill()

    again = workplace.judge_job(run, CHECK, "--checkpoint-max-states", "3")

    assert again.verdicts()[RESUME_EQUALS] == "inconclusive"
    assert "the budget ended too early: " in again.item(RESUME_EQUALS).text
    session.nothing_is_left()


def test_ctrl_c(workplace: Workplace, start: Callable[..., Started]) -> None:
    """The terminal sends it to the whole foreground group: the kit's own processes do not mind."""
    quick = workplace.shell("[ -e a ] || { : > a.tmp; mv a.tmp a; }", "quick.sh")
    workplace.write(
        "test_jobs.py",
        f"""
from pytest_checkpoint.api import CommandSubject, checkpoint_subject

@checkpoint_subject
def quick():
    return CommandSubject(run={quick!r}, check="ls {{workspace}}")

@checkpoint_subject
def unfinished():
    return CommandSubject(run={workplace.shell(SHORTER_JOB)!r}, check="ls {{workspace}}")
""",
    )
    session = start()
    session.until_the_job_ran(12)

    os.killpg(session.process.pid, signal.SIGINT)

    assert session.process.wait(DEADLINE_S) == 2
    output = session.output.read_text()
    assert "KeyboardInterrupt" in output
    matrix = output[output.index("= checkpoint-contracts =") :]
    assert RESUME_EQUALS in matrix
    assert NEVER_CORRUPT in matrix
    assert "quick" in matrix
    assert "unfinished" not in matrix
    session.nothing_is_left()
