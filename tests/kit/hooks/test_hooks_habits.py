"""What people do with pytest every day, done to contracts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts import CATALOGUE

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

Ids = Callable[[pytest.RunResult], list[str]]
FIRST, CONTRACT = "resume-equals-uninterrupted", "state-never-corrupt"
ALL = len(CATALOGUE)
FEW = ("-k", "etl and (equals or corrupt or skips)")
"""Three contracts, so that what is printed is short."""


@pytest.fixture
def flawed(project: Project) -> Project:
    """Two subjects; the first breaks two promises of three that are looked at."""
    project.plan(etl={FIRST: "failed", CONTRACT: "failed"})
    project.subject("etl", file="test_a")
    project.subject("other", file="test_b")
    return project


def test_x_stops_at_the_first_failure(flawed: Project) -> None:
    """What is examined by then is shown; the other subject is not even begun."""
    result = flawed.run("-x")

    result.assert_outcomes(failed=1)
    assert result.ret == 1
    assert [line.split()[1] for line in flawed.examined] == ["etl"]
    result.stdout.fnmatch_lines(
        [
            f"etl *{FIRST} *FAILED (kill)*",
            "1 subject, 60 operations, *",
            "*stopping after 1 failures*",
        ]
    )


def test_last_failed(flawed: Project) -> None:
    flawed.run().assert_outcomes(failed=2, passed=2 * ALL - 2)
    flawed.plan(etl={CONTRACT: "failed"})

    again = flawed.run("--lf")

    again.assert_outcomes(failed=1, passed=1, deselected=2 * ALL - 2)
    assert flawed.examined[-1] == f"examine etl main {FIRST},{CONTRACT}"
    flawed.run("--lf").assert_outcomes(failed=1, deselected=2 * ALL - 1)


def test_last_failed_of_tests_and_of_contracts_do_not_meet(flawed: Project) -> None:
    """Each remembers its own failures, in one cache."""
    flawed.pytester.makepyfile(test_c="def test_one(): assert 0\ndef test_two(): ...")
    flawed.run().assert_outcomes(failed=2, passed=2 * ALL - 2)

    flawed.plain("--lf", "test_c.py").assert_outcomes(failed=1, passed=1)

    flawed.run("--lf").assert_outcomes(failed=2, deselected=2 * ALL - 2)
    flawed.plain("--lf").assert_outcomes(failed=1)


def test_stepwise(flawed: Project) -> None:
    flawed.run("--sw").assert_outcomes(failed=1)
    flawed.plan(etl={CONTRACT: "failed"})

    flawed.run("--sw").assert_outcomes(failed=1, passed=1)
    assert f"{FIRST}," in flawed.examined[-1]


def test_deselect(flawed: Project) -> None:
    words = [f"--deselect=etl::{name}" for name in (FIRST, CONTRACT)]

    flawed.run(*words).assert_outcomes(passed=2 * ALL - 2, deselected=2)


def test_a_file_that_is_ignored(flawed: Project, subjects_of: Ids) -> None:
    listed = flawed.run("--ignore=test_a.py", "--collect-only", "-q")

    assert {line.partition("::")[0] for line in subjects_of(listed)} == {"other"}


def test_the_tree_of_what_is_collected(flawed: Project) -> None:
    result = flawed.run("--collect-only", *FEW)

    lines = [line.strip() for line in result.outlines]
    first = lines.index("<SubjectNode etl>")
    assert lines[first - 1] == "<Module test_a.py>"
    assert lines[first + 1] == f"<ContractItem {FIRST}>"
    assert flawed.examined == []


def test_durations(flawed: Project) -> None:
    """The first item of a subject has its examination."""
    result = flawed.run("--durations=2", "--durations-min=0", *FEW)

    result.stdout.fnmatch_lines(["*slowest 2 durations*", f"*s call *etl::{FIRST}"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--tb=no",), f"FAILED etl::{CONTRACT}"),
        (("--tb=line",), ": Failed: etl: killed at step 41 (rename state.json.tmp → state.json): "),
        (("--tb=short", "--no-header", "-rN"), "promise: a kill or torn write leaves"),
        (("--tb=native", "-vv", "-rA", "--color=no"), "promise: a kill or torn write leaves"),
        (("-s", "--show-capture=no", "--full-trace"), "promise: a kill or torn write leaves"),
    ],
)
def test_how_much_is_shown(flawed: Project, arguments: tuple[str, ...], told: str) -> None:
    """No option of pytest's shows a traceback of the kit in the place of the failure's text."""
    result = flawed.run(*arguments, *FEW)

    assert result.ret == 1
    assert told in result.stdout.str()
    assert "Traceback (most recent call last)\n  File" not in result.stdout.str()
    assert "2 failed" in result.stdout.str()


@pytest.mark.parametrize(
    "name", ["terminal", "capture", "cacheprovider", "junitxml", "skipping", "logging", "warnings"]
)
def test_without_one_of_pytests_plugins(flawed: Project, name: str) -> None:
    """Each can be switched off; the verdicts are the same."""
    result = flawed.run("-p", f"no:{name}", *FEW)

    assert result.ret == 1
    assert flawed.examined == [f"examine etl main {FIRST},resume-skips-done,{CONTRACT}"]
    assert "Traceback" not in result.stderr.str()
    if name != "terminal":
        result.assert_outcomes(failed=2, passed=1, deselected=2 * ALL - 3)


def test_without_this_plugin(project: Project) -> None:
    """Switched off, it is as if it were not installed: its options are nobody's."""
    installed = [
        one for one in entry_points(group="pytest11") if one.value == "pytest_checkpoint.hooks"
    ]
    name = installed[0].name if installed else "pytest_checkpoint.hooks"
    project.pytester.makepyfile(test_other="def test_one(): pass")
    off = ("-p", f"no:{name}", "-p", "no:hypothesispytest")

    refused = project.pytester.runpytest_inprocess(*off, "--checkpoint-contracts")
    ordinary = project.pytester.runpytest_inprocess(*off)

    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*unrecognized arguments: --checkpoint-contracts"])
    ordinary.assert_outcomes(passed=1)


def test_a_hook_where_this_plugin_may_be_missing(project: Project) -> None:
    project.pytester.makepyfile(
        both="import pytest\n"
        "@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_checkpoint_contracts(config):\n    raise RuntimeError('asked')\n"
    )
    project.pytester.makepyfile(test_other="def test_one(): pass")
    loaded = ("-p", "no:hypothesispytest", "-p", "both", "-p", "no:checkpoint_contracts")
    project.pytester.syspathinsert()

    project.pytester.runpytest_inprocess(*loaded).assert_outcomes(passed=1)


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_a_session_that_would_judge_nothing(flawed: Project, option: str) -> None:
    result = flawed.run(option)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {option} runs no test, so no contract would be judged"])
    assert flawed.examined == []


@pytest.mark.parametrize("option", ["--setup-show", "--fixtures", "--cache-show"])
def test_what_pytest_lists(flawed: Project, option: str) -> None:
    result = flawed.run(option, "-k", "other")

    assert result.ret == 0
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_several_failed_lines_pasted(flawed: Project) -> None:
    """As pytest prints them, and with a path beside them."""
    lines = [line for line in flawed.run(*FEW).outlines if line.startswith("FAILED ")]
    ids = [line.split()[1] for line in lines]
    assert len(ids) == 2

    flawed.run(*ids).assert_outcomes(failed=2, deselected=2 * ALL - 2)
    flawed.run(*ids, "other::" + FIRST).assert_outcomes(failed=2, passed=1, deselected=2 * ALL - 3)


def test_options_in_the_environment(flawed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--checkpoint-seed=7 -q")

    result = flawed.run(*FEW)

    replay = [line for line in result.outlines if line.startswith("replay: ")]
    assert len(replay) == 2
    assert all("--checkpoint-seed 7" in line for line in replay)


def test_main_in_a_program(flawed: Project) -> None:
    """pytest.main() twice in one process: nothing of the first session is left in the second."""
    program = flawed.pytester.makepyfile(
        program="import pytest, sys\n"
        "codes = [int(pytest.main(['--checkpoint-contracts', *sys.argv[1:], '-k', word]))\n"
        "         for word in ('equals and etl', 'equals and other', 'nonsense')]\n"
        "codes.append(int(pytest.main([*sys.argv[1:]])))\n"
        "sys.exit(str(codes))\n"
    )
    always = [word for word in flawed.always if word != "-Werror"]

    result = flawed.pytester.runpython_c(
        f"import runpy, sys; sys.argv[1:] = {always!r}; runpy.run_path({str(program)!r})"
    )

    result.stderr.fnmatch_lines(["[[]1, 0, 4, 5[]]"])
