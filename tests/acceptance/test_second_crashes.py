"""Crash after crash, and damaged states, as a user meets them: what is said, kept, replayed."""

from __future__ import annotations

import shlex
import shutil

import pytest

from checkpoint_contracts import archive, judge
from checkpoint_contracts.second_crash import crash_during_recovery
from checkpoint_contracts.verdict import Outcome
from tests.acceptance.sessions import NEVER_CORRUPT, Session, Workplace

pytest_plugins = ["pytester"]

RECOVERY = "crash-during-recovery"
REFUSED = "bad-state-is-refused"
SECOND = "--checkpoint-faults=second-crash"

# The state is written over in place, with its old version kept beside it meanwhile. RESTORE puts it
# back; each run says beside the workspace that it was one.
IN_PLACE = """
echo run >> "$OLDPWD/runs"
[ -e state ] || { printf base > new; mv new state; }
[ -e old ] && { RESTORE }
case "$(cat state)" in
    base) ln state kept; mv kept old; rm state; printf final > state; rm old ;;
    final) ;;
    *) echo "the state is lost"; exit 3 ;;
esac
"""
DELETES_FIRST = 'text=$(cat old); rm old; printf "$text" > state;'
REWRITES_FIRST = "cp old new; mv new state; rm old;"
CHECK = "cat {workspace}/state"


def in_place(workplace: Workplace, restore: str) -> str:
    return workplace.shell(IN_PLACE.replace("RESTORE", restore))


def judged(workplace: Workplace, run: str, *arguments: str, only: str = RECOVERY) -> Session:
    chosen = (f"job::{only}",) if only else ()
    return workplace.judge_job(run, CHECK, "--checkpoint-self-check=0", *arguments, *chosen)


def pasted(workplace: Workplace, session: Session, contract: str) -> tuple[str, list[str]]:
    """The point of the replay line under a failure, and the line's arguments."""
    words = shlex.split(session.item(contract).text.splitlines()[-1])[3:]
    arguments = [word for word in words if word not in workplace.always()]
    return arguments[-1].partition("@")[2], arguments


def runs(workplace: Workplace) -> int:
    return (workplace.path / "runs").read_text().count("\n")


def test_a_failure_is_told_kept_and_shown_again(workplace: Workplace) -> None:
    run = in_place(workplace, DELETES_FIRST)
    session = judged(workplace, run, "--checkpoint-faults=kill,second-crash", only="")

    assert session.failed() == {RECOVERY}, "one crash is survived"
    item = session.item(RECOVERY)
    first, *text = item.text.splitlines()
    assert first.startswith("job: killed at step ")
    assert ", then its resume killed at step 2 (truncate state to 0): resume exits 3" in first
    assert "    then, in the resume:" in text
    assert "    →     2 truncate state to 0" in text
    assert any(line.startswith("likely cause: The recovery takes the old away") for line in text)
    point, line = pasted(workplace, session, RECOVERY)
    before, _, then = point.partition("+")
    assert then == "2.kill"
    kept = session.kept / "job"
    assert [path.name for path in (kept / "resumes").iterdir()] == [before], "and no other"
    wreck = kept / "wrecks" / f"{RECOVERY}-{point.replace('+', '_')}"
    assert {path.name for path in (wreck / "w").iterdir()} == {"state"}
    evidence = archive.load((kept / "evidence.json").read_text())
    assert judge(evidence, crash_during_recovery).outcome is Outcome.FAILED

    made = runs(workplace)
    again = workplace.judge(*line)
    assert again.item(RECOVERY).text.splitlines()[0] == first
    assert runs(workplace) == made + 2, "resumed, and once more since it failed; nothing recorded"
    assert (
        f"job: the resume after {before} is the kept one too: whether it was mended since is seen "
        "without --checkpoint-replay"
    ) in again.notes

    shutil.rmtree(kept / "resumes")
    made = runs(workplace)
    again = workplace.judge(*line)
    assert again.item(RECOVERY).text.splitlines()[0] == first
    assert runs(workplace) == made + 3
    assert f"job: the resume after {before} was recorded again for this replay" in again.notes


def test_a_recovery_that_rewrites_first_is_passed(workplace: Workplace) -> None:
    session = judged(workplace, in_place(workplace, REWRITES_FIRST), SECOND)
    assert session.verdicts() == {RECOVERY: "passed"}, session.output
    explored = session.item(RECOVERY).properties["states_explored"]
    assert int(explored) > 0
    assert not (session.kept / "job" / "resumes").exists(), "there is nothing to replay"


def test_with_a_depth_of_one_no_resume_is_crashed(workplace: Workplace) -> None:
    run = in_place(workplace, DELETES_FIRST)
    session = judged(workplace, run, SECOND, "--checkpoint-depth=1")
    assert session.verdicts() == {RECOVERY: "not applicable"}
    assert session.ret == 4, "nothing was judged"
    bad = judged(workplace, run, SECOND, "--checkpoint-depth=0")
    assert bad.ret == 4
    assert "--checkpoint-depth" in bad.output


# Whoever starts for the fourth time gives up: no stage has to do with it.
COUNTS = """
set -- $(ls start.* 2>&-)
[ $# -lt 3 ] || { echo "three crashes"; exit 3; }
touch start.$#
printf final > new; mv new state
rm -f start.*
"""


def test_deeper_on_request(workplace: Workplace) -> None:
    run = workplace.shell(COUNTS)
    assert judged(workplace, run, SECOND).verdicts() == {RECOVERY: "passed"}

    session = judged(workplace, run, SECOND, "--checkpoint-depth=3")
    assert session.failed() == {RECOVERY}
    assert "resume exits 3" in session.item(RECOVERY).text.splitlines()[0]
    point, line = pasted(workplace, session, RECOVERY)
    assert point.count("+") == 2
    assert "--checkpoint-depth" in line
    first = session.item(RECOVERY).text.splitlines()[0]
    assert workplace.judge(*line).item(RECOVERY).text.splitlines()[0] == first


def test_what_one_crash_breaks_is_not_told_twice(workplace: Workplace) -> None:
    run = workplace.shell('[ -e state ] || printf "final" > state')
    session = judged(workplace, run, "--checkpoint-faults=kill,torn,second-crash", only="")
    assert NEVER_CORRUPT in session.failed()
    assert session.item(RECOVERY).verdict == "passed"
    assert any(
        note.endswith("from which the first resume does not end well by itself")
        for note in session.notes
    )


def test_no_time_left_passes_nothing(workplace: Workplace) -> None:
    run = in_place(workplace, REWRITES_FIRST)
    session = judged(workplace, run, SECOND, "--checkpoint-time-budget=0.000001")
    assert session.item(RECOVERY).verdict == "inconclusive"
    assert "not covered is the resume after a crash: none was recorded" in session.output


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        ("99.kill+1.kill", "there is no step 99: the recording has "),
        ("1.kill+99.kill", "there is no crash state 1.kill+99.kill: "),
        ("1.kill+1.boom", "'1.boom' is no crash point"),
        ("1.empty-9", "there is no damage 1.empty-9: the state has 1 file after that step"),
    ],
)
def test_a_point_that_is_none_is_a_sentence(
    workplace: Workplace, point: str, sentence: str
) -> None:
    run = workplace.shell("[ -e state ] || { printf final > state; }")
    session = judged(workplace, run, f"--checkpoint-replay=job::{RECOVERY}@{point}", only="")
    assert session.ret == 4, session.output
    assert sentence in session.output
    assert "Traceback" not in session.output


# --- damaged states ---

STAGES = """
say() { echo "$1" >> "$CHECKPOINT_EVENTS"; }
READ
for stage in a b; do
    case "$done" in *$stage*) continue ;; esac
    say "start $stage"
    done=$done$stage
    printf "$done" > new; mv -T new state
    say "done $stage"
done
"""
STARTS_OVER = 'done=$(cat state 2>&-); case "$done" in a|ab) ;; *) done=; rm -fr state ;; esac'
REFUSES = """
[ ! -e state ] || case "$(cat state 2>&-)" in
    a|ab) done=$(cat state) ;;
    *) echo "state is damaged"; exit 3 ;;
esac
"""
DAMAGE = ("--checkpoint-capability=refuses-bad-state", "--checkpoint-faults=damage")


def test_a_damaged_state_is_told_kept_and_shown_again(workplace: Workplace) -> None:
    run = workplace.shell(STAGES.replace("READ", STARTS_OVER))
    session = judged(workplace, run, *DAMAGE, only=REFUSED)

    assert session.failed() == {REFUSED}, session.output
    text = session.item(REFUSED).text
    first = text.splitlines()[0]
    assert first.startswith("job: state emptied after step ")
    assert first.endswith(": resume exits 0 and runs a again, which had been done")
    assert "likely cause: That the state cannot be read is taken to mean" in text
    point, line = pasted(workplace, session, REFUSED)
    wreck = session.kept / "job" / "wrecks" / f"{REFUSED}-{point}"
    assert (wreck / "w" / "state").read_bytes() == b""
    again = workplace.judge(*line)
    assert again.item(REFUSED).text.splitlines()[0] == first

    workplace.shell(STAGES.replace("READ", REFUSES))
    assert workplace.judge(*line).verdicts() == {REFUSED: "passed"}


def test_a_job_that_refuses_is_passed(workplace: Workplace) -> None:
    run = workplace.shell(STAGES.replace("READ", REFUSES))
    session = judged(workplace, run, *DAMAGE, only=REFUSED)
    assert session.verdicts() == {REFUSED: "passed"}, session.output
    assert f"job: {REFUSED}: no bit was flipped: the subject does not declare checksummed" in (
        session.notes
    )


def test_without_the_capability_nothing_is_damaged(workplace: Workplace) -> None:
    run = workplace.shell(STAGES.replace("READ", STARTS_OVER))
    session = judged(workplace, run, "--checkpoint-faults=damage", only=REFUSED)
    assert session.item(REFUSED).text == (
        "not applicable: the subject does not declare the capability refuses-bad-state"
    )
