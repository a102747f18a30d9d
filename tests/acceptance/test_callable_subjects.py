"""A subject of functions, judged: the mutant is caught, its sound twin is not."""

from __future__ import annotations

from tests.acceptance.sessions import RESUME_EQUALS, Workplace

pytest_plugins = ["pytester"]

JOBS = """
from functools import partial
from pathlib import Path

from pytest_checkpoint.api import CallableSubject, checkpoint_subject
from .results import show

def setup(workspace: Path) -> None:
    (workspace / "input").write_text("A")

def run(aside: str, workspace: Path) -> None:
    path = workspace / "a"
    if not path.exists():
        (workspace / aside).write_text((workspace / "input").read_text())
        (workspace / aside).rename(path)

@checkpoint_subject
def mutant() -> CallableSubject:
    return CallableSubject(run=partial(run, "a"), setup=setup, check=show)

@checkpoint_subject
def twin() -> CallableSubject:
    return CallableSubject(run=partial(run, "a.tmp"), setup=setup, check=show, outputs=["a"])

@checkpoint_subject
def nobody() -> CallableSubject:
    return CallableSubject(run=lambda workspace: None, check=show)
"""
SHOW = """
def show(workspace):
    print("looking")
    return {"length": len((workspace / "a").read_text())}
"""


def test_a_mutant_and_its_twin(workplace: Workplace) -> None:
    folder = workplace.path / "jobs"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "results.py").write_text(SHOW)
    jobs = folder / "test_jobs.py"
    jobs.write_text(JOBS)

    session = workplace.judge("--import-mode=importlib", "--checkpoint-faults", "kill")

    assert session.ret == 4
    assert f"subject 'nobody' ({jobs}:25): run: a lambda has no name" in session.output

    jobs.write_text(JOBS[: JOBS.rindex("@checkpoint_subject")])
    session = workplace.judge("--import-mode=importlib", "--checkpoint-faults", "kill")

    assert session.failed("mutant") == {RESUME_EQUALS}, session.output
    assert not session.failed("twin")
    assert session.verdicts("twin")[RESUME_EQUALS] == "passed"
    text = session.item(RESUME_EQUALS, "mutant").text
    assert '{"length": 1}' in text
    assert '{"length": 0}' in text
