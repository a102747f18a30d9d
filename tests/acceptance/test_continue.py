"""An interrupted session is continued: what was judged is not done again, the rest is.

The jobs here say beside the workspace what they found in it each time they were started. One of
them stands still when it was started so many times, as long as there is a gate: so it is known what
had been judged when the session was interrupted.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable

from tests.acceptance.sessions import RESUME_EQUALS, Session, Workplace, job
from tests.acceptance.started import DEADLINE_S, Started

pytest_plugins = ["pytester"]

# A full name for what is empty, another one for what is not: every crash state looks different.
GATED = """
for one in *; do if [ -s "$one" ]; then echo "$one+"; else echo "$one"; fi; done |
    tr '\\n' ' ' | sed 's/$/\\n/' >> "$OLDPWD/seen"
echo "$1" >> "$OLDPWD/where"
if [ -e "$OLDPWD/gate" ] && [ "$(wc -l < "$OLDPWD/where")" -ge "$(cat "$OLDPWD/gate")" ]; then
    sleep 1000
fi
for number in 1 2 3 4; do
    [ -e "$number" ] && continue
    echo "$number" > "$number.tmp"
    mv "$number.tmp" "$number"
done
"""
EMPTY, FINISHED = "*", "1+ 2+ 3+ 4+"
STATES = 13
"""One before and three for each number."""
QUICK = """
echo run >> "$OLDPWD/runs"
[ -e a ] || { : > a.tmp; mv a.tmp a; }
"""
CHECK = "ls {workspace}"
OPTIONS = ["--checkpoint-faults", "kill", "--checkpoint-self-check", "1"]
BEFORE_EXPLORING = 5
"""Two control runs, the resume of the finished job, one self-check, the trial of a warm start."""


class Place:
    """A workplace with the gated job in it."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        self.run = workplace.shell(GATED)
        self._told = 0

    def gate(self, explored: int | None) -> None:
        """Stand still when so many states of this session were explored; None: never."""
        gate = self.workplace.path / "gate"
        gate.unlink(missing_ok=True)
        if explored is not None:
            gate.write_text(str(explored))

    def seen(self) -> list[str]:
        """What the job found since this was asked last."""
        path = self.workplace.path / "seen"
        lines = [line.strip() for line in path.read_text().splitlines()]
        new, self._told = lines[self._told :], len(lines)
        return new

    def stopped(self, start: Callable[..., Started], at: int, *arguments: str) -> Started:
        """A session that stands still when the job was started ``at`` times in all."""
        self.gate(at)
        session = start(*arguments)
        session.until_the_job_ran(at)
        return session

    def continued(self, *arguments: str) -> Session:
        self.gate(None)
        return self.workplace.judge(*arguments, "--checkpoint-continue")


def test_ctrl_c_and_then_the_rest(workplace: Workplace, start: Callable[..., Started]) -> None:
    """The terminal sends it to the whole foreground group: the kit's own processes do not mind."""
    place = Place(workplace)
    subjects = {
        "quick": workplace.shell(QUICK.replace("runs", "ran-quick"), "quick.sh"),
        "unfinished": place.run,
        "later": workplace.shell(QUICK.replace("runs", "ran-later"), "later.sh"),
    }
    workplace.write(
        "test_jobs.py",
        "from pytest_checkpoint.api import CommandSubject, checkpoint_subject\n"
        + "\n".join(
            f"@checkpoint_subject\ndef {name}():\n"
            f"    return CommandSubject(run={run!r}, check={CHECK!r})\n"
            for name, run in subjects.items()
        ),
    )
    session = place.stopped(start, BEFORE_EXPLORING + 4, *OPTIONS)
    assert f"unfinished: {STATES} states, " in session.output.read_text(), "told as it comes"
    os.killpg(session.process.pid, signal.SIGINT)

    assert session.process.wait(DEADLINE_S) == 2
    output = session.output.read_text()
    matrix = output[output.index("= checkpoint-contracts =") :]
    told = f"interrupted after 3 of {STATES} states and 0 trials"
    assert f"{RESUME_EQUALS}, " in matrix
    assert f"(unfinished): {told}" in matrix
    assert "later" not in matrix
    row = next(line for line in matrix.splitlines() if line.startswith("unfinished"))
    assert row.split() == ["unfinished", RESUME_EQUALS, "INCONCLUSIVE", f"3/{STATES}"]
    line = next(one for one in output.splitlines() if one.startswith("to judge the rest: "))
    words = shlex.split(line.removeprefix("to judge the rest: "))
    assert words == ["pytest", *workplace.always(), *OPTIONS, "--checkpoint-continue"]
    names = ["quick.sh", "later.sh", "seen", "gate", "ran-quick"]
    session.nothing_is_left(*names)

    *before, _cut_short = place.seen()
    quick = (workplace.path / "ran-quick").read_text()
    one = place.continued(*OPTIONS, "-k", "quick")

    assert one.ret == 0, one.output
    waiting = "of the interrupted session these are still to be continued: unfinished"
    assert waiting in one.lines, "what was not selected now is not forgotten"
    assert not place.seen()

    again = place.continued(*OPTIONS)

    assert again.ret == 0, again.output
    assert waiting not in again.lines
    assert (workplace.path / "ran-quick").read_text() == quick, "it was finished"
    assert (workplace.path / "ran-later").exists(), "it had not been begun"
    assert {again.item(RESUME_EQUALS, name).verdict for name in subjects} == {"passed"}
    assert again.item(RESUME_EQUALS, "unfinished").properties["states_explored"] == str(STATES)
    explored, after = before[BEFORE_EXPLORING:], place.seen()
    assert after[0] == FINISHED, "to see whether it may start warm"
    assert not {*explored} & {*after[1:]}
    assert len({*explored, *after}) == len(explored) + len(after) - 1 == STATES
    assert "quick: judged before the interruption: nothing was run again" in again.notes
    told = f"continued: judged before the interruption: 3 of {STATES} states"
    assert f"unfinished: {told}" in again.notes
    assert "checkpoint-contracts: continuing the session of " in again.output

    refused = place.continued(*OPTIONS)

    assert refused.ret == 4
    assert "--checkpoint-continue: there is nothing to continue: " in refused.output
    assert not place.seen()


def test_killed_twice_and_then_the_rest(
    workplace: Workplace, start: Callable[..., Started]
) -> None:
    """SIGKILL leaves no time to say anything, and what was judged is on disk all the same."""
    place = Place(workplace)
    arguments = [*job(place.run, CHECK), *OPTIONS]
    explored: list[str] = []
    started = 0
    for times, before, more in ((1, BEFORE_EXPLORING, []), (2, 1, ["--checkpoint-continue"])):
        session = place.stopped(start, started + before + 4, *arguments, *more)
        session.process.kill()
        assert session.process.wait(DEADLINE_S) == -signal.SIGKILL
        session.nothing_is_left("seen", "gate")
        seen = place.seen()
        explored += seen[before:-1]
        started += len(seen)
        assert len(explored) == 3 * times
    logbook = workplace.path / ".checkpoint-contracts" / "job" / "logbook.jsonl"
    with logbook.open("ab") as torn:
        torn.write(b"0123456789abcdef [half a li")

    again = place.continued(*arguments)

    assert again.ret == 0, again.output
    after = place.seen()
    assert after[0] == FINISHED
    assert not {*explored} & {*after[1:]}
    assert len({*explored, *after}) == len(explored) + len(after) - 1 == STATES
    told = f"continued: judged before the interruption: 6 of {STATES} states"
    assert f"job: {told}" in again.notes


def test_what_has_changed_is_begun_anew(
    workplace: Workplace, start: Callable[..., Started]
) -> None:
    place = Place(workplace)
    arguments = [*job(place.run, CHECK), *OPTIONS]
    session = place.stopped(start, BEFORE_EXPLORING + 4, *arguments)
    session.process.kill()
    session.process.wait(DEADLINE_S)
    session.nothing_is_left("seen", "gate")
    place.seen()
    script = workplace.path / "job.sh"
    script.write_text(script.read_text() + "# mended\n")

    again = place.continued(*arguments, "--checkpoint-seed", "7")

    assert again.verdicts()[RESUME_EQUALS] == "passed"
    assert place.seen()[:2] == [EMPTY, EMPTY], "it was recorded again"
    (note,) = (note for note in again.notes if "begun anew" in note)
    assert note == (
        "job: begun anew, not continued: the option seed, the file "
        f"{script} have changed since the interruption"
    )
