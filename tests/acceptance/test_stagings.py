"""A staging in a whole session: where it is not what was declared, and a trial made again."""

from __future__ import annotations

import shlex

import pytest

from tests.acceptance.sessions import PYTHON, Workplace
from tests.subjects.matrix import FOLDER

pytest_plugins = ["pytester"]

STAGES = "printf 12345 > staging/a; cp staging/a a; rm staging/a"
DECLARED = ("--checkpoint-staging=staging", "--checkpoint-staging-bound=4kB")


@pytest.mark.parametrize(
    ("work", "setup", "said"),
    [
        ("printf 12345 > a", "", "nothing ever lies in it in the undisturbed run"),
        ("mkdir -p staging; " + STAGES, "rmdir staging", "is no directory when the run begins"),
    ],
)
def test_what_was_declared_does_not_show(
    pytester: pytest.Pytester, work: str, setup: str, said: str
) -> None:
    workplace = Workplace(pytester)
    more = [f"--checkpoint-setup={workplace.shell(setup, 'setup.sh')}"] if setup else []
    session = workplace.judge_job(
        workplace.shell(work), "cat {workspace}/a", *DECLARED, *more, "--checkpoint-name=job"
    )
    assert session.inconclusive().startswith("the staging staging ")
    assert said in session.inconclusive()
    assert session.ret == 1


def test_a_trial_is_made_again_by_its_name(pytester: pytest.Pytester) -> None:
    python = PYTHON.replace(" -I ", " -E -s ")  # it imports what is beside it
    script = f"{python} {shlex.quote(str(FOLDER / 'mutant_staging_partial_uploaded.py'))}"
    session = Workplace(pytester).judge_job(
        f"{script} run {{workspace}}",
        f"{script} check {{workspace}}",
        *DECLARED,
        "--checkpoint-name=job",
        "--checkpoint-replay=job::no-space-in-staging@0.staging-0",
    )
    (item,) = session.items.values()
    assert item.verdict == "failed", session.output
    assert "the staging is full at step 5 (write staging/a.part (5000 bytes at 0); 0 blocks)" in (
        item.text
    )
    assert "@0.staging-0" in item.text
