"""Stage faults and changed pipelines, as a user meets them: what is run, said, kept, replayed."""

from __future__ import annotations

import shlex

import pytest

from checkpoint_contracts import archive, judge
from checkpoint_contracts.changed_pipeline import changed_pipeline_is_noticed
from checkpoint_contracts.failed_stage import failed_stage_is_retried
from checkpoint_contracts.verdict import Outcome
from tests.acceptance.sessions import Session, Workplace

pytest_plugins = ["pytester"]

RETRIED = "failed-stage-is-retried"
POISON = "poison-fails-fast"
NOTICED = "changed-pipeline-is-noticed"

STAGES = """
say() { echo "$1" >> "$CHECKPOINT_EVENTS"; }
echo "${CHECKPOINT_STAGE_FAULT-none}" >> "$OLDPWD/faults"
for stage in ${2-a b}; do
    [ -e $stage ] && continue
    say "start $stage"
    case "$CHECKPOINT_STAGE_FAULT" in
        raise:$stage:*) say "fail $stage"; echo "$stage failed"; FAIL ;;
    esac
    echo "$stage $*" > $stage.tmp; mv $stage.tmp $stage
    say "done $stage"
done
"""
"""``$2``: other stages. What a failing stage does stands in the place of FAIL."""

CHECK = "cut -d' ' -f1,3- {workspace}/a {workspace}/b"
RAISES = ("--checkpoint-capability=stage-faults", "--checkpoint-faults=stage-raises")


def job(workplace: Workplace, fail: str = "exit 1") -> str:
    return workplace.shell(STAGES.replace("FAIL", fail))


def judged(workplace: Workplace, run: str, *arguments: str, only: str = "") -> Session:
    chosen = (f"job::{only}",) if only else ()
    return workplace.judge_job(run, CHECK, "--checkpoint-self-check=0", *arguments, *chosen)


def changed(run: str, arguments: str) -> str:
    return f"--checkpoint-changed={run} {arguments}"


def test_the_fault_is_set_for_its_own_run_and_for_no_other(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one that stands in the environment of pytest handed on."""
    monkeypatch.setenv("CHECKPOINT_STAGE_FAULT", "raise:a:1")
    session = judged(workplace, job(workplace), *RAISES, only=RETRIED)

    assert session.verdicts() == {RETRIED: "passed"}, session.output
    faults = (workplace.path / "faults").read_text().split()
    assert faults[-4:] == ["raise:a:1", "none", "raise:b:1", "none"]
    assert set(faults[:-4]) == {"none"}
    assert "2 trials made" in session.output


def test_a_failure_is_told_kept_and_shown_again(workplace: Workplace) -> None:
    run = job(workplace, "echo nothing > $stage; exit 1")
    session = judged(workplace, run, *RAISES, only=RETRIED)

    text = session.item(RETRIED).text
    assert text.splitlines()[0] == (
        "job: stage a raises once: the resume exits 0, but the stage was never run again: "
        "the failure was taken as done"
    )
    assert "operation: stage a raises once (step 1 of 10 of the undisturbed run)" in text
    assert "run (exit 1) printed:\n    a failed" in text
    assert "and 1 more trial with the same cause" in text
    wreck = session.kept / "job" / "wrecks" / f"{RETRIED}-1.raises-once"
    assert (wreck / "w" / "a").read_text() == "nothing\n"
    assert (wreck / "1-run.txt").read_text() == "a failed\n"
    assert (wreck / "events").read_text() == "start a\nfail a\nstart b\ndone b\n"
    kept = archive.load((session.kept / "job" / "evidence.json").read_text())
    assert judge(kept, failed_stage_is_retried).outcome is Outcome.FAILED

    starts = (workplace.path / "faults").read_text().count("\n")
    line = shlex.split(text.splitlines()[-1])[3:]
    assert line[-1] == f"job::{RETRIED}@1.raises-once"
    again = workplace.judge(*(word for word in line if word not in workplace.always()))
    assert again.item(RETRIED).text == text.replace("and 1 more trial with the same cause\n", "")
    assert (workplace.path / "faults").read_text().count("\n") == starts + 2, "nothing recorded"

    job(workplace)  # mended
    mended = workplace.judge(*(word for word in line if word not in workplace.always()))
    assert mended.verdicts() == {RETRIED: "passed"}


def test_a_fault_that_fires_nowhere_passes_nothing(workplace: Workplace) -> None:
    """``stage-faults`` is declared, and the job does not look."""
    run = workplace.shell(STAGES.replace("raise:", "another-spelling:"))
    session = judged(workplace, run, *RAISES)
    for contract, words, times in (
        (RETRIED, "stage a raises once", "1"),
        (POISON, "stage a always raises", "…"),
    ):
        assert session.item(contract).text == (
            f"inconclusive: the fault did not fire: {words}: with "
            f"CHECKPOINT_STAGE_FAULT=raise:a:{times} the run exits 0 as if nothing had happened "
            "(and 1 more reason)"
        )
    assert session.ret == 1


def test_no_time_left_passes_nothing(workplace: Workplace) -> None:
    session = judged(workplace, job(workplace), *RAISES, "--checkpoint-time-budget=0.000001")
    assert session.item(RETRIED).verdict == session.item(POISON).verdict == "inconclusive"
    assert "nothing was tried of a stage that raises once" in session.item(RETRIED).text


def test_a_point_that_is_no_trial_is_a_sentence(workplace: Workplace) -> None:
    run = job(workplace)
    judged(workplace, run, *RAISES, only=RETRIED)
    for point in ("1.kill", "2.raises-once", "1.raises-always"):
        session = judged(workplace, run, *RAISES, f"--checkpoint-replay=job::{RETRIED}@{point}")
        assert session.ret == 4
        assert f"there is no trial {point} of {RETRIED}: copy the replay line" in session.output


# --- changed pipelines ---


def test_a_changed_pipeline_is_replayed(workplace: Workplace) -> None:
    """Done stages are told by their names, and here one is made with something else."""
    run = job(workplace)
    session = judged(workplace, run, changed(run, "'a b c'"), "--checkpoint-faults=changed")
    text = session.item(NOTICED).text
    assert session.failed() == {NOTICED}
    assert text.splitlines()[0] == (
        "job: changed pipeline 1 after 'done a': it exits 0 with another result: old work was "
        "silently taken as done"
    )
    assert "changed pipeline 1 is: sh " in text
    kept = archive.load((session.kept / "job" / "evidence.json").read_text())
    assert judge(kept, changed_pipeline_is_noticed).outcome is Outcome.FAILED

    line = shlex.split(text.splitlines()[-1])[3:]
    assert line[-1] == f"job::{NOTICED}@5.changed-1"
    again = workplace.judge(*(word for word in line if word not in workplace.always()))
    assert again.item(NOTICED).text.splitlines()[0] == text.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "'a b'",
            "differs from the original neither in what the check says nor in its stages",
        ),
        ("'a b c/d'", "exits 2 in a fresh workspace (sh -e "),
        ("'a b' chance", "two undisturbed runs of the changed pipeline 1 (sh -e "),
        ("a", "the check exits 1 after an undisturbed run of the changed pipeline 1"),
    ],
)
def test_a_changed_pipeline_that_is_none_is_a_sentence(
    workplace: Workplace, arguments: str, sentence: str
) -> None:
    said = '"$stage - ${3:+$$}"'  # its process, where there is a third argument
    run = workplace.shell(STAGES.replace("FAIL", "exit 1").replace('"$stage $*"', said))
    run = run.replace("sh ", "sh -e ", 1)
    session = judged(workplace, run, changed(run, arguments), "--checkpoint-faults=changed")
    assert set(session.verdicts().values()) == {"inconclusive"}
    assert sentence in session.inconclusive(), session.output
    assert "Traceback" not in session.output
