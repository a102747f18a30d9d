"""Experiments start warm where that changes nothing, and no verdict hangs on it."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from tests.acceptance.sessions import KEEPS_WORK, PYTHON, RESUME_EQUALS, Session, Workplace
from tests.subjects.matrix import CASES
from tests.test_known_faults import judged

pytest_plugins = ["pytester"]

JOB = """
import json, os, signal, sys
folder = sys.argv[2]
path = folder + "/state"
done = 0
if os.path.exists(path):
    with open(path) as file:
        done = json.load(file)
def warm():
    with open("/proc/self/cmdline", "rb") as file:
        return b"-c" in file.read().split(b"\\0")
{more}
if sys.argv[1] == "check":
    print(done)
    sys.exit(done != 3)
while done < 3:
    done += 1
    with open(path + ".tmp", "w") as file:
        json.dump(done, file)
    os.replace(path + ".tmp", path)
"""
"""Keeps its promises; it can tell a warm start by its command line."""

RUN = "sys.argv[1] == 'run'"
SELECTED = ("--checkpoint-self-check=0", "-k", f"{RESUME_EQUALS} or {KEEPS_WORK}")


def session(workplace: Workplace, more: str = "", *options: str) -> Session:
    script = workplace.write("job.py", JOB.replace("{more}", more))
    command = f"{PYTHON} {shlex.quote(str(script))}"
    return workplace.judge_job(
        f"{command} run {{workspace}}", f"{command} check {{workspace}}", *SELECTED, *options
    )


def told(session: Session) -> list[str]:
    """What the notes say of warm starts."""
    return [note for note in session.notes if "warm" in note or "fresh" in note]


def test_a_python_job_starts_warm(workplace: Workplace) -> None:
    seen = session(workplace)

    (note,) = told(seen)
    assert note.startswith("job: resumes and checks start warm (python 3.")
    assert note.endswith(" modules preloaded)")
    assert set(seen.verdicts().values()) == {"passed"}, seen.output


def test_the_option(workplace: Workplace) -> None:
    fails = "if done == 2: sys.exit('stuck')"
    seen = session(workplace, fails, "--checkpoint-fresh")

    assert told(seen) == []
    assert seen.failed() == {RESUME_EQUALS}, seen.output
    # It is part of what the replay of a failure is told.
    assert "--checkpoint-fresh" in seen.item(RESUME_EQUALS).properties["replay"]
    assert session(workplace, fails).verdicts() == seen.verdicts()


def test_a_job_that_is_no_python_says_nothing(workplace: Workplace) -> None:
    run = workplace.shell("for i in 1 2 3 4 5 6 7 8; do echo > $i; done")
    seen = workplace.judge_job(run, "ls {workspace}", *SELECTED)

    assert told(seen) == []
    assert seen.verdicts()[RESUME_EQUALS] == "passed", seen.output


def test_why_it_starts_fresh_is_told(workplace: Workplace) -> None:
    script = workplace.write("job.py", JOB.replace("{more}", ""))
    command = f"{PYTHON} -X tracemalloc {shlex.quote(str(script))}"
    seen = workplace.judge_job(
        f"{command} run {{workspace}}", f"{command} check {{workspace}}", *SELECTED
    )

    (note,) = told(seen)
    assert note.startswith("job: resumes and checks start fresh: its option -X tracemalloc is not ")
    assert set(seen.verdicts().values()) == {"passed"}, seen.output


def test_a_difference_is_seen_before_anything_is_judged(workplace: Workplace) -> None:
    seen = session(workplace, "if warm(): sys.exit('not like this')")

    (note,) = told(seen)
    assert note.startswith("job: resumes and checks start fresh: warm, the resume's exit is (1, ")
    assert set(seen.verdicts().values()) == {"passed"}, seen.output


@pytest.mark.parametrize(
    "odd",
    ["done = 7", "os.kill(os.getpid(), signal.SIGKILL)"],
    ids=["wrong", "dies"],
)
def test_a_failure_of_warm_starts_alone_is_none(workplace: Workplace, odd: str) -> None:
    """In the middle of the run only, so that the finished job does not show it."""
    seen = session(workplace, f"if done == 2 and warm(): {odd}")

    assert set(seen.verdicts().values()) == {"passed"}, seen.output
    warm, again = told(seen)
    assert warm.startswith("job: resumes and checks start warm ")
    assert again.startswith("job: what was seen in a warm start (step ")
    assert again.endswith("everything was explored again with fresh processes")


def test_a_failure_of_fresh_starts_alone_is_found(workplace: Workplace) -> None:
    """What ended well warm is not all believed: a sample of it is made again fresh."""
    seen = session(workplace, f"if 0 < done < 3 and {RUN} and not warm(): sys.exit('stuck')")

    assert seen.failed() == {RESUME_EQUALS}, seen.output
    assert told(seen)[1].startswith("job: what was seen in a warm start (step ")


def test_what_makes_a_warm_start_unusable_does_not_make_it_inconclusive(
    workplace: Workplace,
) -> None:
    """The refusal of a warm start is not believed either."""
    precious = workplace.write("precious", "x")
    seen = session(workplace, f"if done == 2 and {RUN} and warm(): os.unlink({str(precious)!r})")

    assert set(seen.verdicts().values()) == {"passed"}, seen.output
    assert told(seen)[1].startswith("job: what was seen in a warm start (step ")


def test_the_warm_interpreter_is_lost_on_the_way(workplace: Workplace) -> None:
    """The job kills it, which is a sibling."""
    lose = """
if done == 2 and warm():
    for one in open("/proc/%d/task/%d/children" % (os.getppid(), os.getppid())).read().split():
        if int(one) != os.getpid():
            os.kill(int(one), signal.SIGKILL)
"""
    seen = session(workplace, lose)

    assert set(seen.verdicts().values()) == {"passed"}, seen.output
    assert told(seen)[1] == (
        "job: from some state on resumes and checks started fresh: the warm interpreter has ended"
    )


@pytest.mark.parametrize("name", ["shorter_over_longer", "json_in_place_by_child"])
def test_verdicts_are_the_same_fresh(
    workplace: Workplace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are judged warm, against the same expectations (test_known_faults)."""
    (known,) = (one for one in CASES if one.name == name)
    case = dataclasses.replace(known, max_states=40)
    warm = judged(case, case.models[0], workplace)
    monkeypatch.setattr("pytest_checkpoint.phases.warm.FEWEST_STATES", 1 << 30)
    fresh = judged(case, case.models[0], workplace)

    assert warm.verdicts(case.script.stem) == fresh.verdicts(case.script.stem)
    assert (told(fresh), len(told(warm)) > 0) == ([], True)
