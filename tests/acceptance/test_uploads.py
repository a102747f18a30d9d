"""Sessions about uploads: a trial made again by its name, markers and commands that are none."""

from __future__ import annotations

import shlex

import pytest

from tests.acceptance.sessions import PYTHON, Workplace
from tests.subjects.matrix import FOLDER, MARKER_IMPLIES

pytest_plugins = ["pytester"]

pytest.importorskip("moto", reason="the kit's object store: extra s3")


def _job(name: str, *options: str) -> list[str]:
    # What uploads imports the client beside it, which an isolated interpreter does not find.
    words = f"{PYTHON.replace(' -I ', ' -E -s ')} {shlex.quote(str(FOLDER / name))}.py"
    return [
        *("--checkpoint-run", f"{words} run {{workspace}}"),
        *("--checkpoint-check", f"{words} check {{workspace}}"),
        *("--checkpoint-s3=s3://talks", "--checkpoint-self-check=0", "--checkpoint-name=job"),
        *options,
    ]


def test_a_lie_is_told_again_by_its_name(workplace: Workplace) -> None:
    job = _job("mutant_store_size_only", "--checkpoint-s3-markers=markers/*.done")
    arguments = [*job, "--checkpoint-faults=store-lies"]
    text = workplace.judge(*arguments).item(MARKER_IMPLIES).text
    target = f"job::{MARKER_IMPLIES}@3.store-lies-"
    assert f"{target}flipped-body" in text
    again = workplace.judge(*arguments, "--checkpoint-replay", f"{target}flipped-body")
    assert again.item(MARKER_IMPLIES).verdict == "failed", again.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--checkpoint-s3-reconcile=ls {workspace}"], "given without --checkpoint-s3 s3://"),
        (["--checkpoint-s3=s3://talks", "--checkpoint-s3-reconcile=ls"], "has no {workspace}"),
        (
            ["--checkpoint-s3=s3://talks", "--checkpoint-s3-reconcile=nowhere {workspace}"],
            "s3: reconcile: command not found: nowhere",
        ),
    ],
)
def test_a_reconciliation_that_is_none(
    workplace: Workplace, words: list[str], sentence: str
) -> None:
    run = workplace.shell("echo x > a")
    session = workplace.judge_job(run, "cat {workspace}/a", *words)
    assert session.ret == pytest.ExitCode.USAGE_ERROR, session.output
    assert sentence in session.output
