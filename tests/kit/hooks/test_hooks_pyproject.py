"""When the subjects of pyproject.toml are judged, and beside which others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts import CATALOGUE
from tests.kit.hooks.conftest import SUBJECT

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

Ids = Callable[[pytest.RunResult], list[str]]
CONTRACT = "state-never-corrupt"
TABLE = """
[tool.checkpoint-contracts.subjects.{name}]
run = "true {{workspace}}"
check = "true {{workspace}}"
"""


@pytest.fixture
def tables(project: Project) -> Project:
    """Two subjects in pyproject.toml, one in tests/test_jobs.py."""
    project.pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"
        + TABLE.format(name="etl")
        + TABLE.format(name="load")
    )
    project.pytester.mkdir("tests")
    project.subject("decorated", file="tests/test_jobs")
    return project


@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        ((), {"decorated", "etl", "load", "rooted"}),
        ((".",), {"decorated", "etl", "load", "rooted"}),
        (("tests",), {"decorated", "rooted"}),
        (("pyproject.toml",), {"etl", "load"}),
        (("pyproject.toml", "tests/test_jobs.py"), {"decorated", "etl", "load", "rooted"}),
        (("--deselect", "etl::", "-k", "not decorated"), {"load", "rooted"}),
        (("--checkpoint-replay", f"etl::{CONTRACT}@1.kill", "tests"), {"etl"}),
    ],
)
def test_which_are_judged(
    tables: Project, subjects_of: Ids, arguments: tuple[str, ...], subjects: set[str]
) -> None:
    """``rooted`` stands in the conftest of the rootdir."""
    with (tables.pytester.path / "conftest.py").open("a") as file:
        file.write(SUBJECT.format(name="rooted", more=""))

    result = tables.run("--collect-only", "-q", *arguments)

    assert result.ret == 0
    assert {line.partition("::")[0] for line in subjects_of(result)} == subjects


@pytest.mark.parametrize("paths", [(), ("tests",)])
def test_a_pasted_id_needs_no_path(tables: Project, paths: tuple[str, ...]) -> None:
    result = tables.run("-v", *paths, f"etl::{CONTRACT}")

    assert result.ret == 0
    assert tables.examined == [f"examine etl main {CONTRACT}"]


def test_xdist_gives_each_to_one_worker(tables: Project) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    tables.plan(etl={CONTRACT: "failed"})

    result = tables.in_a_process("-n", "2", "pyproject.toml")

    assert result.ret == 1
    assert sorted(line.split()[1] for line in tables.examined) == ["etl", "load"]
    (line,) = [line for line in result.outlines if line.startswith("replay: ")]
    assert line.endswith(f" --checkpoint-replay etl::{CONTRACT}@41.kill pyproject.toml")


def test_a_failure_stands_in_pyproject(tables: Project) -> None:
    """Where pytest tells places: an editor can go there."""
    tables.plan(etl={CONTRACT: "failed"})

    result = tables.run("--junitxml=junit.xml", "-o", "junit_family=xunit1", "-k", CONTRACT)

    result.assert_outcomes(passed=2, failed=1, deselected=3 * len(CATALOGUE) - 3)
    junit = (tables.pytester.path / "junit.xml").read_text()
    assert 'classname="etl" name="state-never-corrupt" file="pyproject.toml" line="3"' in junit


def test_commands_are_started_where_pytest_was(
    tables: Project, subjects_of: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tables.pytester.mkdir("sub")
    program = folder / "here.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with (tables.pytester.path / "pyproject.toml").open("a") as file:
        file.write(TABLE.format(name="here").replace("true ", "./here.sh "))
    refused = tables.run("pyproject.toml")
    monkeypatch.chdir(folder)

    result = tables.run("--collect-only", "-q", "-k", "here")

    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["ERROR: [[]tool.*.here] (*: run: command not found: */here.sh"])
    assert len(subjects_of(result)) == len(CATALOGUE)


def test_mistakes_are_sentences_before_anything_runs(tables: Project) -> None:
    """All of them at once, whatever way the subjects are named."""
    with (tables.pytester.path / "pyproject.toml").open("a") as file:
        file.write("\nchek = 'x'\n" + TABLE.format(name="other") + "outputs = 'x'\n")
    tables.subject("third", more=", outputs='x'", file="tests/test_jobs")

    result = tables.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines_random(
        [
            "*.subjects.load] (*pyproject.toml:8): there is no key 'chek'; did you mean 'check'*",
            "*.subjects.other] (*pyproject.toml:13): outputs must be a list of strings, not 'x'",
            "*subject 'third' (*test_jobs.py:3): outputs must be a list of strings, not 'x'",
        ]
    )
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert tables.examined == []


def test_a_name_used_twice(tables: Project) -> None:
    tables.subject("etl", file="tests/test_jobs")

    result = tables.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            (
                "ERROR: two different subjects are called 'etl': *test_jobs.py:3 and "
                "*pyproject.toml:4; give one of them another name *"
            )
        ]
    )


def test_another_folders_pyproject(tables: Project) -> None:
    (tables.pytester.path / "tests" / "pyproject.toml").write_text("")

    result = tables.run("--rootdir", ".", "tests/pyproject.toml")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            (
                "ERROR: tests/pyproject.toml: subjects are read from the rootdir's pyproject.toml, "
                "*; for this one, add --rootdir */tests"
            )
        ]
    )


def test_subjects_that_were_not_asked_for_are_named(tables: Project) -> None:
    tables.pytester.mkdir("empty")

    result = tables.run("empty")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            (
                "ERROR: no subject found in what was given; */pyproject.toml names etl, load: they "
                "are judged if no path is given, or with the paths pyproject.toml or etl::CONTRACT"
            )
        ]
    )


def test_the_command_form_reads_none(tables: Project) -> None:
    (tables.pytester.path / "pyproject.toml").write_text(TABLE.format(name="etl") + "x = 1\n")

    result = tables.run(
        *("--checkpoint-run", "true {workspace}", "--checkpoint-check", "true {workspace}"),
        *("-k", CONTRACT),
    )

    assert result.ret == 0
    assert tables.examined == [f"examine true main {CONTRACT}"]
