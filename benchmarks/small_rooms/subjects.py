"""The subjects that come with this repository, as plain commands."""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = ("json_writer", "sqlite_wal", "json_in_place", "never_reads_checkpoint", "pipeline")
_OWN_RESUME = ("pipeline",)
"""Examples whose job has a word of its own for going on."""


@dataclass(frozen=True, slots=True)
class Commands:
    """``{workspace}`` stands for the workspace."""

    name: str
    run: tuple[str, ...]
    resume: tuple[str, ...]
    check: tuple[str, ...]


def bundled() -> list[Commands]:
    """The examples, then the sound scripts of ``tests/subjects``."""
    return [*map(_example, _EXAMPLES), *map(_twin, _twins())]


def _example(name: str) -> Commands:
    job = (sys.executable, "-B", str(ROOT / "examples" / name / "job.py"))
    resume = "resume" if name in _OWN_RESUME else "run"
    return Commands(
        name,
        (*job, "run", "{workspace}"),
        (*job, resume, "{workspace}"),
        (*job, "check", "{workspace}"),
    )


def _twins() -> list[Path]:
    """As the table beside them has them, each once; none that needs more than a workspace.

    A store, a staging, somebody who takes effects: here is nobody, and what a job does without is
    not what it is for.
    """
    matrix = runpy.run_path(str(ROOT / "tests" / "subjects" / "matrix.py"))
    alone = [
        case
        for case in matrix["TWINS"]
        if not case.bucket and not case.staging_bytes and "effects" not in case.capabilities
    ]
    return sorted({case.script for case in alone})


def _twin(script: Path) -> Commands:
    job = (sys.executable, "-E", "-s", "-B", str(script))  # some import what lies beside them
    run = (*job, "run", "{workspace}")
    return Commands(script.stem, run, run, (*job, "check", "{workspace}"))
