"""Where the time of an examination goes: the wall clock, by what the kit was doing."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.engines.ways import Job
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint import examiner
from pytest_checkpoint.experiment import examine
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.subject import Subject

_PARTS = {
    "put": "putting states into the workspace",
    "resume": "resumes",
    "check": "checks",
    "look": "looking at what a resume left",
}


class _Silent:
    def phase(self, text: str) -> None: ...

    def estimate(self, text: str) -> None: ...

    def advance(self, done: int, total: int) -> None: ...


def profile(job: Job, folder: Path) -> tuple[dict[str, float], int, float]:
    """Seconds by part, states explored, and seconds in all."""
    run = tuple(job.run("{workspace}"))
    subject = Subject(
        name="profiled",
        run=run,
        resume=run,
        check=tuple(job.check("{workspace}")),
        working_directory=folder,
    )
    options = Options(
        rootdir=folder,
        faults=frozenset({Fault.KILL, Fault.TORN}),
        contracts=frozenset({"resume-equals-uninterrupted", "state-never-corrupt"}),
    )
    parts: dict[str, float] = defaultdict(float)
    begun = time.monotonic()
    with _watched(parts):
        examination = examine(subject, options, _Silent())
    took_s = time.monotonic() - begun
    if examination.evidence.invalid:
        raise RuntimeError(examination.evidence.invalid)
    parts["the rest: control runs, self-check, judging"] = took_s - sum(parts.values())
    explored = sum(one.explored for one in examination.evidence.coverage.values())
    return dict(parts), explored, took_s


@contextmanager
def _watched(parts: dict[str, float]) -> Iterator[None]:
    within = False

    def timed(function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal within
            if within:
                return function(*arguments, **named)
            within = True
            begun = time.monotonic()
            try:
                return function(*arguments, **named)
            finally:
                within = False
                parts[part] += time.monotonic() - begun

        return call

    originals: list[tuple[Any, str, Any]] = []
    for owner, name, part in (
        *((Bench, name, part) for name, part in _PARTS.items()),
        (examiner, "plan", "deriving crash states"),
    ):
        originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, timed(getattr(owner, name), part))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
