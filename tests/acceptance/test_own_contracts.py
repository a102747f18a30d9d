"""A contract of somebody's own through the whole engine: judged, replayed, and one that breaks."""

from __future__ import annotations

import shlex

from checkpoint_contracts import CATALOGUE, archive, judge
from tests.acceptance.sessions import Workplace, job

pytest_plugins = ["pytester"]

CONFTEST = """
from pytest_checkpoint.api import CommandSubject
from checkpoint_contracts import Broken, ExperimentContract


def says_so(experiment, reference):
    if "going on" in experiment.resume.output or not experiment.point.step:
        return None
    return Broken(
        what="the resume does not say that it goes on", expected="going on",
        seen=experiment.resume.output, likely_cause="The start does not look for a state.",
    )


def breaks(experiment, reference):
    raise KeyError("total")


def pytest_checkpoint_contracts():
    promise = "a resume says that it goes on"
    return [
        ExperimentContract(id="resume-says-so", promise=promise, judge=says_so),
        ExperimentContract(id="judge-breaks", promise=promise, judge=breaks),
    ]


def pytest_checkpoint_subjects():
    return [("job", CommandSubject(run={run!r}, check="cat {{workspace}}/b"))]
"""
SILENT = "if test -f b; then echo going on; fi; echo 1 > a; echo 2 > b.new; mv b.new b"
"""It says so only when all is done."""


def test_from_the_hooks_to_the_replay(workplace: Workplace) -> None:
    workplace.write("conftest.py", CONFTEST.format(run=workplace.shell(SILENT)))
    selection = ("-k", "equals or resume-says-so or judge-breaks")

    session = workplace.judge(*selection)

    assert session.verdicts() == {
        "resume-equals-uninterrupted": "passed",
        "resume-says-so": "failed",
        "judge-breaks": "inconclusive",
    }
    assert session.item("judge-breaks").text == (
        "inconclusive: the contract judge-breaks could not be judged: its own code raised "
        "KeyError: 'total' (conftest.py:16); it is none of the kit's contracts: mend it where it "
        "is defined"
    )
    item = session.item("resume-says-so")
    assert item.text.startswith("job: killed at step 1 (")
    assert "): the resume does not say that it goes on\n" in item.text
    assert "likely cause: The start does not look for a state.\nwreck: " in item.text
    row = next(line for line in session.lines if "  FAILED (kill)" in line)
    assert row.split() == ["resume-says-so", "FAILED", "(kill)", "6/6"]

    evidence = archive.load((session.kept / "job" / "evidence.json").read_text())
    assert judge(evidence, CATALOGUE["resume-equals-uninterrupted"]).outcome == "passed"

    replayed = workplace.judge(*shlex.split(item.properties["replay"])[1:])

    assert replayed.verdicts() == {"resume-says-so": "failed"}
    assert replayed.item("resume-says-so").text.startswith("job: killed at step 1 (")


TRIALS = """
from checkpoint_contracts import Symptom, TrialKind
from checkpoint_contracts.tried import TrialContract, finding


def look(trial, evidence, reference):
    first, *_ = trial.legs
    if first.execution.succeeded or "no room" in first.execution.output:
        return ()
    told = dict(expected="no room", seen=first.execution.output, cause="It says nothing.")
    return (finding("full-disk-is-told", trial, Symptom.BROKEN, "the run does not say so", **told),)


def pytest_checkpoint_contracts():
    return [TrialContract(
        id="full-disk-is-told", promise="a full disk is told", explanation="",
        kinds=(TrialKind.NO_SPACE,), needs=frozenset(), look=look,
    )]
"""
SAYS_NOTHING = "echo 1 > a.new 2> /dev/null && mv a.new a && echo 2 > b 2> /dev/null"


def test_trials_of_ones_own(workplace: Workplace) -> None:
    """Runs on a full disk, made for it alone; what it finds is tried again, and replayed."""
    workplace.write("conftest.py", TRIALS)
    job_form = job(workplace.shell(SAYS_NOTHING), "cat {workspace}/b")

    session = workplace.judge(*job_form, "--checkpoint-faults=no-space", "-k", "disk_is_told")

    item = session.item("full-disk-is-told")
    assert item.verdict == "failed", session.output
    assert ": the run does not say so\n" in item.text
    words = shlex.split(item.properties["replay"])[1:]

    replayed = workplace.judge(*words)

    assert replayed.verdicts() == {"full-disk-is-told": "failed"}
