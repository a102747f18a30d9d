"""What an item ends with, and what the session's exit code says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from checkpoint_contracts import CATALOGUE

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

CONTRACT = "state-never-corrupt"
OTHERS = len(CATALOGUE) - 1
EXPECTED = f", expected_failures={{'{CONTRACT}': 'known flaw'}}"


def test_a_failure_is_told_in_the_users_terms(project: Project) -> None:
    project.plan(etl={CONTRACT: "failed"})
    project.subject("etl")

    result = project.run("--checkpoint-seed", "7", "test_jobs.py")

    result.assert_outcomes(passed=OTHERS, failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "etl: killed at step 41 (rename state.json.tmp → state.json): resume exits 1",
            "promise: *",
            "operation: kill after step 41 of 60: rename state.json.tmp → state.json",
            "    state.json  0 bytes",
            "    KeyError: 'frames'",
            "expected: exit 0",
            "seen: exit 1",
            "and 12 more states with the same cause",
            "likely cause: *",
            "wreck: */wreck",
            f"replay: pytest *--checkpoint-seed 7 *-replay etl::{CONTRACT}@41.kill test_jobs.py",
        ]
    )


@pytest.mark.parametrize(
    ("outcome", "counts", "sentence"),
    [
        ("failed", {"passed": OTHERS, "xfailed": 1}, ""),
        (
            "passed",
            {"passed": OTHERS, "failed": 1},
            "*holds, although it is expected to *",
        ),
        (
            "not applicable",
            {"passed": OTHERS, "failed": 1},
            "*is not applicable (*), although *",
        ),
        ("inconclusive", {"passed": OTHERS, "failed": 1}, "inconclusive: it differs"),
    ],
)
def test_expected_failures_are_strict(
    project: Project, outcome: str, counts: dict[str, int], sentence: str
) -> None:
    project.plan(etl={CONTRACT: outcome})
    project.subject("etl", EXPECTED)

    result = project.run("--checkpoint-tolerate", "inconclusive")

    result.assert_outcomes(**counts)
    result.stdout.fnmatch_lines([sentence or "*1 xfailed*"])
    assert result.ret == (1 if "failed" in counts else 0)


def test_inconclusive_fails_with_that_word_first(project: Project) -> None:
    project.plan(etl={CONTRACT: "inconclusive"})
    project.subject("etl")

    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(["inconclusive: it differs"])


def test_tolerated_inconclusive_is_skipped_never_passed(project: Project) -> None:
    project.plan(etl={CONTRACT: "inconclusive"})
    project.subject("etl")

    result = project.run("--checkpoint-tolerate", "inconclusive", "-rs")

    result.assert_outcomes(passed=OTHERS, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * test_jobs.py:3: inconclusive: it differs"])
    assert result.ret == 0


def test_not_applicable_is_skipped_with_the_reason(project: Project) -> None:
    project.plan(etl={CONTRACT: "not applicable"})
    project.subject("etl")

    result = project.run("-rs")

    result.assert_outcomes(passed=OTHERS, skipped=1)
    result.stdout.fnmatch_lines(
        [
            f"not applicable: {CONTRACT} (etl): it declares no stage",
            "SKIPPED * test_jobs.py:3: not applicable: it declares no stage",
        ]
    )


def test_no_applicable_contract_is_no_success(project: Project) -> None:
    project.plan(etl={CONTRACT: "not applicable"})
    project.subject("etl")

    result = project.run("-k", CONTRACT)

    assert result.ret == 4
    result.stdout.fnmatch_lines(["ERROR: no contract is applicable: nothing was judged"])


def test_a_subject_is_examined_once(project: Project) -> None:
    project.subject("etl")
    project.subject("other", file="test_other")

    project.run()

    assert [line.split()[1] for line in project.examined] == ["etl", "other"]


def test_a_machine_that_cannot_makes_every_item_inconclusive(project: Project) -> None:
    project.plan(etl={"harness": "no seccomp here"})
    project.subject("etl")
    project.subject("other", file="test_other")

    result = project.run()

    result.assert_outcomes(passed=OTHERS + 1, failed=OTHERS + 1)
    result.stdout.fnmatch_lines(["inconclusive: no seccomp here"])


def test_a_late_usage_error_is_exit_4(project: Project) -> None:
    project.plan(etl={"usage": "nothing was recorded at 41.kill"})
    project.subject("etl")

    result = project.run()

    assert result.ret == 4
    result.stdout.fnmatch_lines(["ERROR: nothing was recorded at 41.kill"])
    assert "Traceback" not in result.stdout.str()


def test_a_fault_of_the_kit_shows_its_traceback_once(project: Project) -> None:
    project.plan(etl={"bug": "planted"})
    project.subject("etl")

    result = project.run()

    result.assert_outcomes(failed=OTHERS + 1)
    assert result.stdout.str().count("ZeroDivisionError: planted") <= 3
    result.stdout.fnmatch_lines(["inconclusive: the kit broke while it examined etl: *"])
    assert len(project.examined) == 1


def test_an_interruption_is_exit_2(project: Project) -> None:
    project.plan(etl={"interrupt": "yes"})
    project.subject("etl")

    assert project.in_a_process().ret == 2


def test_replay(project: Project) -> None:
    project.plan(etl={CONTRACT: "failed"})
    project.subject("etl", EXPECTED)
    project.subject("other", file="test_other")

    result = project.run("--checkpoint-replay", f"etl::{CONTRACT}@41.torn-128")

    result.assert_outcomes(failed=1, deselected=2 * OTHERS + 1)
    assert project.examined == [f"replay etl {CONTRACT} 41.torn-128"]


def test_junit(project: Project) -> None:
    project.plan(etl={CONTRACT: "failed"})
    project.subject("etl")

    project.run("--junitxml=junit.xml")

    tree = ElementTree.parse(project.pytester.path / "junit.xml")
    case = next(case for case in tree.iter("testcase") if case.get("name") == CONTRACT)
    found = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
    assert case.get("classname") == "etl"
    assert (found.pop("replay") or "").endswith(f"--checkpoint-replay etl::{CONTRACT}@41.kill")
    assert found == {
        "contract": CONTRACT,
        "verdict": "failed",
        "faults_failed": "kill",
        "states_explored": "30",
        "states_total": "30",
    }


def test_progress_gets_through_the_capture(project: Project) -> None:
    project.subject("etl")

    loud, quiet, silent = project.run(), project.run("-q"), project.run("-qq")

    loud.stdout.fnmatch_lines(["etl: first run", "etl: 30 states, about 0.1 minutes"])
    quiet.stdout.no_fnmatch_line("etl: first run")
    quiet.stdout.fnmatch_lines(["etl: 30 states, about 0.1 minutes"])
    silent.stdout.no_fnmatch_line("etl: 30 states*")


class TestXdist:
    """One subject's items go to one worker; the controller shows the matrix."""

    @pytest.fixture(autouse=True)
    def needs_xdist(self) -> None:
        pytest.importorskip("xdist")

    def test_one_subject_one_worker(self, project: Project) -> None:
        project.plan(etl={CONTRACT: "failed"})
        for name in ("etl", "second", "third"):
            project.subject(name, file=f"test_{name}")

        result = project.in_a_process("-n2")

        result.assert_outcomes(passed=3 * OTHERS + 2, failed=1)
        assert sorted(line.split()[1] for line in project.examined) == ["etl", "second", "third"]
        assert all(re.search(r" gw\d ", line) for line in project.examined)
        result.stdout.fnmatch_lines(
            [
                "etl: killed at step 41 *",
                "*FAILED (kill)*30/30",
                "3 subjects, 180 operations, 90 unique crash states explored",
            ]
        )

    def test_usage_errors_found_by_a_worker(self, project: Project) -> None:
        project.subject("etl")

        result = project.in_a_process("-n2", "etl::nonsense")

        assert result.ret == 4
        result.stdout.fnmatch_lines(["ERROR: nothing matches etl::nonsense; there are:"])

    def test_nothing_applicable(self, project: Project) -> None:
        project.plan(etl={CONTRACT: "not applicable"})
        project.subject("etl")

        assert project.in_a_process("-n2", "-k", CONTRACT).ret == 4
