"""Ways of finding out what a crash leaves, each as one command: how many states it judged."""

from __future__ import annotations

import abc
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.engines import job as jobs

JOB = Path(__file__).with_name("job.py")
_LAST_WORDS = 2000


class WayError(Exception):
    """It did not do what it is measured by; the message says what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is crashed."""

    name: str
    kind: str
    """The job's first argument."""
    python: str
    steps: int
    peer_points: int
    """So many points the peer is given: each costs it two whole runs."""

    def run(self, folder: str) -> list[str]:
        return [self.python, str(JOB), self.kind, folder, str(self.steps)]

    def check(self, folder: str) -> list[str]:
        return [sys.executable, str(JOB), "check", folder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    states: int
    wall_s: float
    """Of the whole command, its control runs included."""

    @property
    def per_second(self) -> float:
        return self.states / self.wall_s


class Way(abc.ABC):
    name: str

    def missing(self) -> str | None:
        """The package that is not installed."""
        return None

    @abc.abstractmethod
    def judge(self, job: Job, folder: Path) -> Judged:
        """Crash it, in a folder of its own. :class:`WayError` if that does not succeed."""


class Kit(Way):
    """This kit, kills and torn writes, default budget."""

    def __init__(self, name: str, *options: str) -> None:
        self.name = name
        self._options = options

    def judge(self, job: Job, folder: Path) -> Judged:
        report = folder / "junit.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            f"--rootdir={folder}", f"--junitxml={report}", "--checkpoint-contracts",
            "--checkpoint-run", _quoted(job.run("{workspace}")),
            "--checkpoint-check", _quoted(job.check("{workspace}")),
            "--checkpoint-faults", "kill,torn",
            "-k", "resume-equals-uninterrupted or state-never-corrupt",
            *self._options,
        ]  # fmt: skip
        wall_s = _timed(command, folder, {0, 1})
        states = 0
        for case in ElementTree.parse(report).iter("testcase"):
            found = {one.get("name"): one.get("value") or "" for one in case.iter("property")}
            # Cut off by the budget it is no less fast.
            if found.get("verdict") not in {"passed", "inconclusive"}:
                raise WayError(f"{case.get('name')}: {found.get('verdict')}")
            if case.get("name") == "state-never-corrupt":  # judged by both kinds of crash
                states = int(found["states_explored"])
        return Judged(states=states, wall_s=wall_s)


class Peer(Way):
    """ckpt-chaos: a run of the job per file event, killed there, and a resume."""

    name = "ckpt-chaos"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("ckpt_chaos") else "ckpt-chaos"

    def judge(self, job: Job, folder: Path) -> Judged:
        work = folder / "work"
        command = [
            sys.executable, "-m", "ckpt_chaos", "run", "--work", str(work),
            "--result-file", f"{{out}}/{jobs.RESULT}", "--max-points", str(job.peer_points),
            "--", *job.run("{out}"),
        ]  # fmt: skip
        wall_s = _timed(command, folder)
        results = [json.loads(one.read_text()) for one in work.glob("pt_*/result.json")]
        return Judged(states=sum(one["crashed"] for one in results), wall_s=wall_s)


WAYS: tuple[Way, ...] = (
    Kit("this kit"),
    Kit("this kit, a fresh process per state", "--checkpoint-fresh", "--checkpoint-time-budget=40"),
    Peer(),
)


def _timed(command: list[str], folder: Path, codes: Set[int] = frozenset({0})) -> float:
    begun = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - begun
    if done.returncode not in codes:
        raise WayError(f"exit {done.returncode}:\n{done.stdout[-_LAST_WORDS:]}")
    return took_s


def _quoted(command: list[str]) -> str:
    import shlex

    return shlex.join(command)
