"""A heartbeat in a whole session: a trial is made again by its name, of a job that is recorded."""

from __future__ import annotations

import shlex

import pytest

from tests.acceptance.sessions import PYTHON, Workplace
from tests.subjects.matrix import FOLDER

pytest_plugins = ["pytester"]

SCRIPT = FOLDER / "mutant_beats_between_stages.py"
OPTIONS = ("--checkpoint-heartbeat-file=beat.json", "--checkpoint-stale-after=0.3")


def test_a_trial_is_made_again_by_its_name(pytester: pytest.Pytester) -> None:
    script = f"{PYTHON} {shlex.quote(str(SCRIPT))}"
    session = Workplace(pytester).judge_job(
        f"{script} run {{workspace}}",
        f"{script} check {{workspace}}",
        *OPTIONS,
        "--checkpoint-name=job",
        "--checkpoint-replay=job::slow-is-not-stale@8.held",
    )
    (item,) = session.items.values()
    assert item.verdict == "failed", session.output
    assert 'a call that takes long at step 8 (event "done a")' in item.text
    assert "it is called stale, and goes on" in item.text
    assert "the heartbeat file beat.json says: stale" in item.text
    assert "@8.held" in item.text
    assert any("recorded again for this replay" in note for note in session.notes)
