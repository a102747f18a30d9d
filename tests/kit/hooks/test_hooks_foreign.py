"""Subjects and contracts that another repository's own conftest.py adds through the hooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from checkpoint_contracts import CATALOGUE

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

Ids = Callable[[pytest.RunResult], list[str]]

OWN = """
from checkpoint_contracts import ExperimentContract, Fault

says_where = ExperimentContract(
    id="resume-says-where",
    promise="a resume says where it goes on",
    judge=lambda experiment, reference: None,
    faults=frozenset({Fault.KILL, Fault.TORN}),
    needs=frozenset({"tells"}),
)
"""
SUBJECTS = """
from pytest_checkpoint.api import CommandSubject

def pytest_checkpoint_subjects(config):
    job = CommandSubject(
        run="true {workspace}", check="true {workspace}", capabilities=["tells"],
        not_applicable={"resume-keeps-work": "it takes a second"},
    )
    return {"nightly": job}
"""
HOOK = "def pytest_checkpoint_contracts(config):\n    return "


def add(project: Project, text: str) -> None:
    """To the conftest.py in the rootdir, which holds the false engine."""
    conftest = project.pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + "\n" + text)


def test_both_hooks(project: Project, subjects_of: Ids) -> None:
    add(project, OWN + SUBJECTS + HOOK + "[says_where]\n")

    result = project.run("--collect-only", "-q")

    ids = [*CATALOGUE, "resume-says-where"]
    assert subjects_of(result) == [f"nightly::{name}" for name in ids]
    assert result.ret == 0


def test_one_of_ones_own_is_like_the_others(project: Project) -> None:
    """Expected to fail, selected by a marker, shown by junit, replayed by the printed line."""
    project.plan(etl={"resume-says-where": "failed"}, other={"resume-says-where": "failed"})
    add(project, OWN + HOOK + "[says_where]\n")
    expected = ", capabilities=['tells'], expected_failures={'resume-says-where': 'not yet'}"
    project.subject("etl", more=expected)
    project.subject("other", file="test_other")

    result = project.run("-m", "resume_says_where and torn", "--junitxml=junit.xml", "-rxf")

    result.assert_outcomes(failed=1, xfailed=1, deselected=2 * len(CATALOGUE))
    result.stdout.fnmatch_lines(["FAILED other::resume-says-where - *other: killed at step 41 *"])
    assert project.examined == [
        "examine etl main resume-says-where",
        "examine other main resume-says-where",
    ]
    cases = list(ElementTree.parse(project.pytester.path / "junit.xml").iter("testcase"))
    assert [case.get("name") for case in cases] == ["resume-says-where"] * 2
    found = {one.get("name"): one.get("value") for one in cases[1].iter("property")}
    assert (found["contract"], found["verdict"]) == ("resume-says-where", "failed")

    project.run("--checkpoint-replay", "other::resume-says-where@41.kill")

    assert project.examined[-1] == "replay other resume-says-where 41.kill"


def test_its_marker_is_explained(project: Project) -> None:
    add(project, OWN + HOOK + "[says_where]\n")

    project.run("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.resume-says-where: a resume says where it goes on"]
    )


TRIALS = """
import dataclasses
from checkpoint_contracts import CATALOGUE
from checkpoint_contracts.tried import TrialContract, TrialKind

def changed(**fields):
    return [dataclasses.replace(says_where, **fields)]

def idle():
    kind = type("Idle", (type(says_where),), {"explores": False})
    return [kind(id="odd", promise="it holds", judge=print)]

def tried(*kinds):
    return [TrialContract(id="odd", promise="it holds", explanation="", kinds=kinds,
        needs=frozenset(), look=print)]
"""
MISTAKES = {
    "3": "it must return a list of contracts, not 3",
    "'resume'": "it must return a list of contracts, not 'resume'",
    "1 / 0": "it raised ZeroDivisionError: division by zero",
    "(1 / 0 for _ in '1')": "a contract of it raised ZeroDivisionError: division by zero",
    "[3]": "3 is no contract: it has no id, promise, explanation, faults, needs, ",
    "[int]": "<class 'int'> is a class: return an object of it; ",
    "changed(id='Says Where')": (
        "the contract 'Says Where' must have an id of lower-case words joined by '-'"
    ),
    "changed(promise='')": "must have a promise: one line that says what holds",
    "changed(explanation=None)": "must have an explanation that is text",
    "changed(needs={'a'})": "must have needs: a frozenset of names of capabilities",
    "changed(faults=frozenset(['kil']))": "must have faults: a frozenset of Fault",
    "changed(faults=frozenset())": (
        "explores, and looks at no fault: name one, as in frozenset({Fault.KILL})"
    ),
    "changed(faults=frozenset({Fault.NO_SPACE}))": (
        "looks at no-space: without trials (a TrialContract) there are only kill, power-loss, torn"
    ),
    "idle()": (
        "looks at crashes and does not explore them: say explores = True, or leave faults out"
    ),
    "[says_where, says_where]": (
        "the id 'resume-says-where' is another one's already: give the contract another"
    ),
    "[CATALOGUE['one-writer']]": "the id 'one-writer' is the kit's already",
    "tried(TrialKind.NO_SPACE, TrialKind.STOPPED)": (
        "must have kinds, all of which belong to one contract of the kit"
    ),
    "tried(TrialKind.STOPPED)": "must need heartbeat, without which there are no such trials",
}


@pytest.mark.parametrize("value", MISTAKES)
def test_a_contract_that_is_none_is_a_sentence(project: Project, value: str) -> None:
    add(project, OWN + TRIALS + HOOK + value + "\n")
    project.subject("etl")

    result = project.run()

    assert result.ret == 4
    assert MISTAKES[value] in result.stderr.str()
    result.stderr.re_match_lines([r"ERROR: pytest_checkpoint_contracts \(.*conftest\.py:\d+\): "])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert project.examined == []


def test_trials_of_ones_own(project: Project, subjects_of: Ids) -> None:
    add(project, TRIALS + HOOK + "tried(TrialKind.NO_SPACE)\n")
    project.subject("etl")

    assert subjects_of(project.run("--collect-only", "-q", "-k", "odd")) == ["etl::odd"]


SUBJECTS_HOOK = "def pytest_checkpoint_subjects():\n    return "
BAD_SUBJECTS = {
    "3": "it must return a mapping of names to subjects, or (name, subject) pairs, not 3",
    "['nightly']": "it must return *; 'nightly' is no such pair",
    "[(3, 4)]": "a subject's name must be a word, not 3",
    "[('nightly', 3)]": "subject 'nightly' (*conftest.py:*): its function must return *, not 3",
    "1 / 0": "it raised ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize("value", BAD_SUBJECTS)
def test_a_subject_that_is_none_is_a_sentence(project: Project, value: str) -> None:
    add(project, f"{SUBJECTS_HOOK}{value}\n")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: *{BAD_SUBJECTS[value]}".replace("[", "[[]")])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("hook", ["pytest_checkpoint_contracts", "pytest_checkpoint_subjects"])
def test_a_forgotten_return_is_a_sentence(project: Project, hook: str) -> None:
    """Else nothing would be judged by it, and the exit code be 0."""
    project.subject("etl")
    add(project, f"def {hook}(config):\n    [1]\n")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {hook} (*conftest.py:*): it returned nothing: *"])
    assert not project.examined


def test_one_name_for_two_subjects_is_refused(project: Project) -> None:
    add(project, OWN + SUBJECTS + HOOK + "[says_where]\n")
    project.subject("nightly")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: two different subjects are called 'nightly': *"])


def test_a_contract_that_comes_too_late_is_told(project: Project) -> None:
    """A conftest.py below the rootdir is loaded only when its folder is collected."""
    project.subject("etl")
    folder = project.pytester.mkdir("jobs")
    (folder / "conftest.py").write_text(OWN + HOOK + "[says_where]\n")
    (folder / "test_nothing.py").write_text("")

    late = project.run()

    assert late.ret == 4
    late.stderr.fnmatch_lines(["ERROR: *jobs*conftest.py: its * came too late, *"])
    project.run("jobs", "test_jobs.py", "-k", "says").assert_outcomes(
        passed=1, deselected=len(CATALOGUE)
    )


def test_without_the_option_nobody_is_asked(project: Project) -> None:
    add(project, HOOK + "1 / 0\n" + SUBJECTS_HOOK + "1 / 0\n")
    project.pytester.makepyfile(test_other="def test_one(): pass")

    project.plain().assert_outcomes(passed=1)


def test_the_example_of_the_page(project: Project, subjects_of: Ids) -> None:
    page = (Path(__file__).parents[3] / "docs" / "own-contracts.md").read_text(encoding="utf-8")
    add(project, page.partition("```python\n")[2].partition("```")[0])

    result = project.run("--collect-only", "-q", "-k", "resume-says-so")

    assert subjects_of(result) == ["nightly::resume-says-so"]
