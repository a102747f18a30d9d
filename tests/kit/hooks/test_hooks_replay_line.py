"""The replay command can be pasted: complete, quoted, and read back by its own option."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts import CATALOGUE
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.replay_line import ReplayTarget

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

CONTRACT = "state-never-corrupt"


def replay_line(result: pytest.RunResult) -> list[str]:
    line = next(line for line in result.outlines if line.startswith("replay: "))
    return shlex.split(line.removeprefix("replay: "))


def test_the_command_form_in_full(project: Project) -> None:
    project.plan(**{"my job": {CONTRACT: "failed"}})

    result = project.run(
        *("--checkpoint-run", "true '{workspace}/a b'", "--checkpoint-check=true {workspace}"),
        *("--checkpoint-name", "my job", "--checkpoint-ephemeral", "*.log"),
        *("--checkpoint-ephemeral=-odd", "--checkpoint-exhaustive", "--checkpoint-faults", "kill"),
        *("-k", "corrupt", "-x", "-o", "console_output_style=classic", "--checkpoint-keep-tmpdir"),
    )

    plugins = [word for word in project.always if word != "-Werror"]
    assert replay_line(result) == [
        *("pytest", "--checkpoint-contracts", *plugins, "-o", "console_output_style=classic"),
        *("--checkpoint-run", "true '{workspace}/a b'", "--checkpoint-check", "true {workspace}"),
        *("--checkpoint-ephemeral", "*.log", "--checkpoint-ephemeral=-odd"),
        *("--checkpoint-name", "my job", "--checkpoint-exhaustive", "--checkpoint-faults", "kill"),
        *("--checkpoint-keep-tmpdir", "--checkpoint-replay", f"my job::{CONTRACT}@41.kill"),
    ]


def test_it_can_be_pasted(project: Project) -> None:
    project.plan(etl={CONTRACT: "failed"})
    project.subject("etl")
    words = replay_line(project.run("test_jobs.py", "--checkpoint-seed=3"))

    result = project.pytester.runpytest_inprocess(*words[1:])

    result.assert_outcomes(failed=1, deselected=len(CATALOGUE) - 1)
    assert replay_line(result) == words
    assert project.examined[-1] == f"replay etl {CONTRACT} 41.kill"


def test_a_replay_of_no_subject(project: Project) -> None:
    project.subject("etl")

    result = project.run("--checkpoint-replay", f"other::{CONTRACT}@41.kill")

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: nothing matches other::{CONTRACT}; there are:"])


def test_targets() -> None:
    target = ReplayTarget.parse("a@b::c-d@0.torn-128", ["c-d"])

    assert (target.subject, target.contract, target.point) == ("a@b", "c-d", "0.torn-128")
    assert str(target) == "a@b::c-d@0.torn-128"


@pytest.mark.parametrize(
    "text", ["", "a", "a::c-d", "a::c-d@", "a::c-d@x.kill", "a::c-d@1", "::c-d@1.k"]
)
def test_no_targets(text: str) -> None:
    with pytest.raises(UserError, match=r"is not SUBJECT::CONTRACT@OP\.VARIANT"):
        ReplayTarget.parse(text, ["c-d"])
