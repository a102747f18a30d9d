"""A state that both a kill and a power loss leave is resumed once and judged as both."""

from __future__ import annotations

import pytest

from tests.acceptance.sessions import SKIPS_DONE, Workplace

pytest_plugins = ["pytester"]

SURVIVES = "done-survives-power-loss"

DONE_BEFORE_THE_RENAME = """
event() { echo "$1" >> "$CHECKPOINT_EVENTS"; }
test -e a && exit 0
event 'start 1'
printf B > b
sync
event 'done 1'
mv b a
sync
"""


@pytest.mark.parametrize("faults", ["kill,power-loss", "power-loss"])
def test_done_is_said_before_the_commit(workplace: Workplace, faults: str) -> None:
    """Between the two a kill leaves what a power loss leaves; neither may hide the other."""
    run = workplace.shell(DONE_BEFORE_THE_RENAME)

    session = workplace.judge_job(run, "cat {workspace}/a", "--checkpoint-faults", faults)

    assert SURVIVES in session.failed(), session.output
    assert (SKIPS_DONE in session.failed()) == ("kill" in faults), session.output
