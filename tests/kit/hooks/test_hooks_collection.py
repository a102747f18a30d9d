"""Which items a session has, and what is told when it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts import CATALOGUE

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

Ids = Callable[[pytest.RunResult], list[str]]
CONTRACTS = list(CATALOGUE)


def test_subjects_replace_ordinary_tests(project: Project, subjects_of: Ids) -> None:
    project.subject("etl")
    project.pytester.makepyfile(test_other="def test_one(): assert False")

    result = project.run("--collect-only", "-q")

    assert subjects_of(result) == [f"etl::{contract}" for contract in CONTRACTS]
    assert result.ret == 0
    assert project.examined == []


def test_subjects_in_a_conftest_are_found(project: Project, subjects_of: Ids) -> None:
    folder = project.pytester.mkdir("jobs")
    (folder / "conftest.py").write_text(
        "from pytest_checkpoint.api import CommandSubject, checkpoint_subject\n"
        "@checkpoint_subject(name='second-job')\n"
        "def job():\n"
        "    return CommandSubject(run='true {workspace}', check=['true', '{workspace}'])\n"
    )
    (folder / "test_nothing.py").write_text("")

    result = project.run("--collect-only", "-q")

    assert subjects_of(result) == [f"second-job::{contract}" for contract in CONTRACTS]


def test_imported_twice_counts_once(project: Project, subjects_of: Ids) -> None:
    project.subject("etl")
    project.pytester.makepyfile(test_other="from test_jobs import etl")

    assert len(subjects_of(project.run("--collect-only", "-q"))) == len(CONTRACTS)


def test_one_name_for_two_subjects_is_refused(project: Project) -> None:
    project.subject("etl")
    project.subject("etl", more=", resume_attempts=2", file="test_other")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: two different subjects are called 'etl': *test_jobs.py:3 and *test_other.py:3; *"]
    )
    assert project.examined == []


def test_the_command_form_collects_nothing(project: Project, subjects_of: Ids) -> None:
    project.pytester.makepyfile(test_broken="raise RuntimeError('imported')")
    (project.pytester.path / "etl.py").write_text("")

    result = project.run(
        *("--checkpoint-run", "python etl.py {workspace}"),
        *("--checkpoint-check", "true {workspace}", "-v"),
    )

    result.stdout.fnmatch_lines(
        [f"*collected {len(CONTRACTS)} items*", "*etl::state-never-corrupt PASSED*"]
    )
    result.assert_outcomes(passed=len(CONTRACTS))


@pytest.mark.parametrize("pasted", ["etl::state-never-corrupt", "../etl::state-never-corrupt"])
def test_a_pasted_id_runs_just_that(project: Project, pasted: str) -> None:
    project.subject("etl")
    project.subject("other", file="test_other")

    result = project.run("-v", pasted)

    result.assert_outcomes(passed=1, deselected=2 * len(CONTRACTS) - 1)
    assert project.examined == ["examine etl main state-never-corrupt"]


def test_an_id_pasted_in_a_subfolder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.plan(etl={"state-never-corrupt": "failed"})
    project.subject("etl")
    project.pytester.makeini("[pytest]")
    monkeypatch.chdir(project.pytester.mkdir("sub"))
    first = project.run("..")
    first.stdout.fnmatch_lines(["FAILED ../etl::state-never-corrupt*"])

    result = project.run("..", "../etl::state-never-corrupt")

    result.assert_outcomes(failed=1, deselected=len(CONTRACTS) - 1)


def test_an_id_that_matches_nothing_lists_what_exists(project: Project) -> None:
    project.subject("etl")

    result = project.run("etl::state-never-corrupted")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: nothing matches etl::state-never-corrupted; there are:",
            "    etl::resume-equals-uninterrupted",
            "*",
            "did you mean 'etl::state-never-corrupt'?",
        ]
    )


def test_a_missing_test_file_is_told_by_pytest(project: Project) -> None:
    result = project.run("test_gone.py::etl")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: file or directory not found: test_gone.py::etl"])


@pytest.mark.parametrize(
    "selection",
    [
        ("-k", "state-never-corrupt"),
        ("-k", "etl and never"),
        ("-m", "state_never_corrupt"),
        ("-m", "state-never-corrupt"),
        (
            "-m",
            (
                "torn and not resume_skips_done and not no_partial_under_final_name "
                "and not effects_fire_once and not marker_implies_object"
            ),
        ),
    ],
)
def test_selection(project: Project, selection: tuple[str, str], subjects_of: Ids) -> None:
    project.subject("etl")

    result = project.run("--collect-only", "-q", "--strict-markers", *selection)

    assert subjects_of(result) == ["etl::state-never-corrupt"]


def test_the_selected_contracts_reach_the_engine(project: Project) -> None:
    project.subject("etl")

    project.run("-k", "skips or keeps")

    assert project.examined == ["examine etl main resume-keeps-work,resume-skips-done"]


def test_a_selection_that_leaves_none(project: Project) -> None:
    project.subject("etl")

    result = project.run("-k", "nonsense")

    assert result.ret == 4
    result.stdout.fnmatch_lines(["ERROR: no contract was selected: *"])


def test_no_subject(project: Project) -> None:
    project.pytester.makepyfile(test_other="def test_one(): pass")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: no subject found: *",
            "*--checkpoint-run 'python job.py {workspace}'*",
            "    @checkpoint_subject",
        ]
    )


def test_errors_of_collection_are_told_as_usual(project: Project) -> None:
    project.subject("etl")
    project.pytester.makepyfile(test_broken="raise RuntimeError('broken module')")

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*RuntimeError: broken module*", "*1 error during collection*"])


MISTAKES = {
    "run has no {workspace}": "CommandSubject(run='true', check='true {workspace}')",
    "check has no {workspace}": "CommandSubject(run='true {workspace}', check='true')",
    "run is empty": "CommandSubject(run='', check='true {workspace}')",
    "run cannot be split into words (No closing quotation)": (
        "CommandSubject(run='true \"', check='true {workspace}')"
    ),
    "run: command not found: no-such-program": (
        "CommandSubject(run='no-such-program {workspace}', check='true {workspace}')"
    ),
    "unknown capability stagess; there are: acknowledges-exit, ": (
        "CommandSubject(run='true {workspace}', check='true {workspace}', capabilities=['stagess'])"
    ),
    "capabilities must be a list of strings, not 'stages'": (
        "CommandSubject(run='true {workspace}', check='true {workspace}', capabilities='stages')"
    ),
    "expected_failures: unknown contract 'nonsense'; there are: ": (
        "CommandSubject(run='true {workspace}', check='true {workspace}',"
        " expected_failures={'nonsense': 'why'})"
    ),
    "its function raised TypeError: ": "CommandSubject(run='true {workspace}')",
    "its function must return a CommandSubject or a CallableSubject, not 3": "3",
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_a_sentence_before_anything_runs(project: Project, sentence: str) -> None:
    project.pytester.makepyfile(
        test_jobs="from pytest_checkpoint.api import CommandSubject, checkpoint_subject\n"
        f"@checkpoint_subject\ndef etl():\n    return {MISTAKES[sentence]}\n"
    )

    result = project.run()

    assert result.ret == 4
    assert sentence in result.stderr.str()
    assert "subject 'etl'" in result.stderr.str()
    assert "test_jobs.py:2" in result.stderr.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert project.examined == []


def test_a_subject_with_arguments_is_refused(project: Project) -> None:
    project.pytester.makepyfile(
        test_jobs="from pytest_checkpoint.api import checkpoint_subject\n"
        "@checkpoint_subject\ndef etl(tmp_path): ...\n"
        "class TestIt:\n    @checkpoint_subject\n    def method(self): ...\n"
    )

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines_random(
        ["*its function must take no arguments*", "*it must be a function of its module*"]
    )
