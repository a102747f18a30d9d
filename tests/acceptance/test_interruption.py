"""However a session ends, nothing of it stays behind: no process, no directory but what is kept."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.acceptance.sessions import RESUME_EQUALS, Workplace, job
from tests.acceptance.started import DEADLINE_S, Started, until

pytest_plugins = ["pytester"]

# Says where it works in a file beside it; has a child in another session; takes long to explore.
JOB = """
echo "$1" >> "$OLDPWD/where"
for number in NUMBERS; do
    [ -e "$number" ] && continue
    setsid sh -c 'echo "$1" > "$1.tmp" && mv "$1.tmp" "$1"' sh "$number"
done
"""
# It is resumed some 100 times: there is a moment for every kill.
LONG_JOB = JOB.replace("NUMBERS", " ".join(map(str, range(1, 31))))
# Some 30 times: more often than a test waits for.
SHORTER_JOB = JOB.replace("NUMBERS", " ".join(map(str, range(1, 9))))
CHECK = "ls {workspace}"


MOMENTS = 12


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_killed_at_a_random_moment(
    workplace: Workplace, start: Callable[..., Started], seed: int
) -> None:
    """The first moments are of pytest's own start, the last ones amid the exploring.

    One in each of so many equal parts of that time: chance leaves no gap.
    """
    moment_s = 0.1 + 1.9 * (seed + random.Random(seed).random()) / MOMENTS
    session = start(*job(workplace.shell(LONG_JOB), CHECK), "--checkpoint-exhaustive")

    with pytest.raises(subprocess.TimeoutExpired):
        session.process.wait(moment_s)
    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    session.nothing_is_left()


@pytest.mark.parametrize("times", [1, 2, 5, 12])
def test_killed_while_the_job_is_running(
    workplace: Workplace, start: Callable[..., Started], times: int
) -> None:
    """In the first control run, the recording, the self-check, the exploring."""
    session = start(*job(workplace.shell(SHORTER_JOB), CHECK))
    session.until_the_job_ran(times)
    seen = session.directories()

    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    assert seen, "there was nothing to be left behind"
    session.nothing_is_left()


# Goes on for ever, with a child in another session: in its first run, or once it is resumed.
ENDLESS = """
echo "$1" >> "$OLDPWD/where"
[ -e wait ] && { setsid sleep 1000 & sleep 1000; }
: > wait
mv wait a
"""


@pytest.mark.parametrize("moment", ["first run", "resume"])
def test_killed_in_a_job_that_would_never_end(
    workplace: Workplace, start: Callable[..., Started], moment: str
) -> None:
    run = workplace.shell((": > wait" if moment == "first run" else "") + ENDLESS)
    session = start(*job(run, CHECK), "--checkpoint-deadline", "500")
    session.until_the_job_ran(1 if moment == "first run" else 4)
    until(
        lambda: list(session.processes().values()).count("sleep 1000 ") == 2,
        session.output.read_text,
    )

    session.process.kill()

    assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
    session.nothing_is_left()


def test_the_next_session_is_as_ever(workplace: Workplace, start: Callable[..., Started]) -> None:
    """It may begin while the killed one's things are still being removed."""
    run = workplace.shell(SHORTER_JOB)
    session = start(*job(run, CHECK))
    session.until_the_job_ran(10)
    session.process.kill()

    again = workplace.judge_job(run, CHECK, "--checkpoint-max-states", "3")

    assert again.verdicts()[RESUME_EQUALS] == "inconclusive"
    assert "the budget ended too early: " in again.item(RESUME_EQUALS).text
    session.nothing_is_left()
