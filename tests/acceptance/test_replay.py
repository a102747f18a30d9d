"""A failure can be looked at again: the replay line, the wrecks, the kept evidence."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from checkpoint_contracts import archive, judge_all
from checkpoint_contracts.verdict import Outcome
from tests.acceptance.sessions import (
    KEEPS_WORK,
    NEVER_CORRUPT,
    RESUME_EQUALS,
    SELF_CHECK,
    Session,
    Workplace,
    job,
)

pytest_plugins = ["pytester"]

# Written in place: one kill state and the torn ones in which it gives another result. Each run says
# beside the workspace that it was one.
IN_PLACE = """
echo run >> "$OLDPWD/runs"
[ -e state ] || printf 'four' > state
"""
MENDED = """
echo run >> "$OLDPWD/runs"
[ -s state ] && [ "$(cat state)" = four ] || { printf 'four' > new; mv new state; }
"""
CHECK = "cat {workspace}/state"


def runs(workplace: Workplace) -> int:
    """How often the job was started so far."""
    return len((workplace.path / "runs").read_text().splitlines())


def replay_line(session: Session, contract: str) -> list[str]:
    """The arguments of the line that a failure ends with; pytest itself is left out."""
    words = shlex.split(session.item(contract).text.splitlines()[-1])
    assert words[:2] == ["replay:", "pytest"]
    assert words[2] == "--checkpoint-contracts"
    return words[3:]


def replay(workplace: Workplace, line: list[str]) -> Session:
    """Paste a line; the options of every session, which stand in it too, but once."""
    always = [word for word in line if word in workplace.always()]
    return workplace.judge(*(word for word in line if word not in always))


def failed_session(workplace: Workplace, *arguments: str) -> Session:
    session = workplace.judge_job(workplace.shell(IN_PLACE), CHECK, *arguments)
    assert session.failed() == {RESUME_EQUALS, NEVER_CORRUPT}
    return session


# --- the replay line ---


def test_the_printed_line_shows_the_same_failure(workplace: Workplace) -> None:
    session = failed_session(workplace)
    recording = contents(session.kept / "job" / "recording")
    for contract in (RESUME_EQUALS, NEVER_CORRUPT):
        before = runs(workplace)

        again = replay(workplace, replay_line(session, contract))

        assert again.ret == 1
        assert set(again.verdicts()) == {contract}
        first, second = session.item(contract), again.item(contract)
        assert second.text.splitlines()[0] == first.text.splitlines()[0]
        assert second.text.splitlines()[-1] == first.text.splitlines()[-1]
        assert second.properties["replay"] == first.properties["replay"]
        assert runs(workplace) == before + 1, "one resume, and nothing was recorded again"
        assert contents(session.kept / "job" / "recording") == recording
        assert "checkpoint-contracts: replaying job::" + contract in again.output


def test_the_line_is_complete_and_quoted(workplace: Workplace) -> None:
    """Given all options, some of them with spaces: a shell starts the very same thing."""
    session = failed_session(
        workplace, "--checkpoint-seed", "7", "--checkpoint-deadline=20s", "--checkpoint-exhaustive"
    )

    line = replay_line(session, RESUME_EQUALS)

    assert line[line.index("--checkpoint-run") :] == [
        *job(f"sh {workplace.path}/job.sh {{workspace}}", CHECK),
        *("--checkpoint-exhaustive", "--checkpoint-seed", "7", "--checkpoint-faults", "kill,torn"),
        *("--checkpoint-deadline", "20s", "--checkpoint-self-check", SELF_CHECK),
        *("--checkpoint-replay", f"job::{RESUME_EQUALS}@1.kill"),
    ]
    assert session.item(RESUME_EQUALS).properties["replay"].endswith(shlex.join(line))


def test_a_decorated_subject_is_replayed(workplace: Workplace) -> None:
    workplace.write(
        "test_jobs.py",
        f"""
from pytest_checkpoint.api import CommandSubject, checkpoint_subject

@checkpoint_subject
def job():
    return CommandSubject(
        run={workplace.shell(IN_PLACE)!r},
        check={CHECK!r},
        expected_failures={{{RESUME_EQUALS!r}: "known", {NEVER_CORRUPT!r}: "known"}},
    )
""",
    )
    session = workplace.judge("test_jobs.py")
    assert session.ret == 0
    line = session.item(RESUME_EQUALS).properties["replay"]
    words = shlex.split(line)
    assert words[-1] == "test_jobs.py"

    again = replay(workplace, words[2:])

    assert again.ret == 1, "a replay shows what happens, expected or not"
    assert again.failed() == {RESUME_EQUALS}


def test_a_mended_program_passes_its_replay(workplace: Workplace) -> None:
    session = failed_session(workplace)
    line = replay_line(session, RESUME_EQUALS)
    workplace.shell(MENDED)

    again = replay(workplace, line)

    assert again.ret == 0, again.output
    assert again.verdicts() == {RESUME_EQUALS: "passed"}


def test_another_point_may_be_named(workplace: Workplace) -> None:
    """After step 2 the write is whole, and the resume has nothing to do."""
    failed_session(workplace)

    again = workplace.judge_job(
        workplace.shell(IN_PLACE), CHECK, "--checkpoint-replay", f"job::{RESUME_EQUALS}@2.kill"
    )

    assert again.ret == 0, again.output
    assert again.verdicts() == {RESUME_EQUALS: "passed"}


def test_without_a_recording_the_job_is_recorded_first(workplace: Workplace) -> None:
    again = workplace.judge_job(
        workplace.shell(IN_PLACE), CHECK, "--checkpoint-replay", f"job::{RESUME_EQUALS}@1.kill"
    )

    assert again.failed() == {RESUME_EQUALS}
    assert "job: no recording was kept: the job was recorded again for this replay" in again.notes


def test_what_costs_a_whole_run_is_replayed_among_the_rest(workplace: Workplace) -> None:
    """``resume-keeps-work`` is no matter of one state."""
    run = workplace.shell("for n in 1 2 3 4 5 6; do printf $n > tmp; mv tmp $n; done")
    session = workplace.judge_job(run, "ls {workspace}")
    assert session.failed() == {KEEPS_WORK}

    again = replay(workplace, replay_line(session, KEEPS_WORK))

    assert again.failed() == {KEEPS_WORK}


BAD_IDS = [
    ("job", "--checkpoint-replay 'job' is not SUBJECT::CONTRACT@OP.VARIANT, as in "),
    (
        f"other::{RESUME_EQUALS}@1.kill",
        (
            f"--checkpoint-replay 'other::{RESUME_EQUALS}@1.kill' is of subject 'other', but "
            "--checkpoint-run names 'job': give --checkpoint-name other"
        ),
    ),
    ("job::resume-well@1.kill", "there is no contract 'resume-well'; there are: "),
    (
        f"job::{RESUME_EQUALS}@1.boom",
        "'1.boom' is no crash point: one looks like 41.kill or 41.torn-128",
    ),
    (
        f"job::{RESUME_EQUALS}@99.kill",
        "there is no step 99: the recording has 2; copy the replay line from a failure of",
    ),
    (f"job::{NEVER_CORRUPT}@1.torn-1", "there is no crash state 1.torn-1: "),
    (f"job::{NEVER_CORRUPT}@2.torn-99", "there is no crash state 2.torn-99: "),
]


def test_a_bad_id_is_a_sentence(workplace: Workplace) -> None:
    failed_session(workplace)

    for target, sentence in BAD_IDS:
        again = workplace.judge_job(workplace.shell(IN_PLACE), CHECK, "--checkpoint-replay", target)

        assert again.ret == 4, again.output
        assert sentence in again.output
        assert "Traceback" not in again.output


def test_what_is_kept_may_be_damaged(workplace: Workplace) -> None:
    """It is a sentence, or the job is recorded again; never a traceback, never another verdict."""
    session = failed_session(workplace)
    line = replay_line(session, RESUME_EQUALS)
    kept, whole = session.kept / "job", workplace.path / "whole"
    shutil.copytree(kept, whole)
    for damage in ("no evidence", "no recording", "half a recording", "garbage"):
        shutil.rmtree(kept)
        shutil.copytree(whole, kept)
        if damage == "no evidence":
            (kept / "evidence.json").unlink()
        elif damage == "garbage":
            (kept / "evidence.json").write_text("{")
        elif damage == "no recording":
            shutil.rmtree(kept / "recording")
        else:
            for path in (kept / "recording").iterdir():
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

        again = replay(workplace, line)

        assert "Traceback" not in again.output, damage
        assert again.ret != 0, damage
        assert set(again.verdicts().values()) <= {"failed", "inconclusive"}, damage


# --- what is kept ---


def test_the_wreck_is_the_crash_state(workplace: Workplace) -> None:
    session = failed_session(workplace)

    wrecks = session.kept / "job" / "wrecks"
    killed = wrecks / f"{RESUME_EQUALS}-1.kill"
    assert contents(killed / "w") == {"state": b""}
    assert contents(killed / "t") == {}
    assert (killed / "events").read_bytes() == b""
    assert "state  0 bytes" in (killed / "about.txt").read_text()
    torn = [path for path in wrecks.iterdir() if ".torn-" in path.name]
    assert torn
    for folder in torn:
        cut = int(folder.name.rpartition("-")[2])
        assert contents(folder / "w") == {"state": b"four"[:cut]}
    operations = (session.kept / "job" / "operations.txt").read_text().splitlines()
    assert [line.split(maxsplit=1) for line in operations] == [
        ["1", "create state"],
        ["2", "write state (4 bytes at 0)"],
    ]
    assert (session.kept / ".gitignore").read_text() == "*\n"


def test_the_kept_evidence_gives_the_same_verdicts(workplace: Workplace) -> None:
    session = failed_session(workplace)

    evidence = archive.load((session.kept / "job" / "evidence.json").read_text())
    verdicts = judge_all(evidence)

    assert {name: str(one.outcome) for name, one in verdicts.items()} == session.verdicts()
    failure = verdicts[RESUME_EQUALS].failures[0]
    assert verdicts[RESUME_EQUALS].outcome is Outcome.FAILED
    assert f"job: {failure.finding.headline}" == session.item(RESUME_EQUALS).text.splitlines()[0]


def test_secrets_are_not_kept(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    run = workplace.shell('[ -e state ] && exit 3; echo "$DEPLOY_TOKEN"; printf four > state')
    check = "cat {workspace}/state"

    session = workplace.judge(
        *job(run, check),
        "--checkpoint-resume",
        workplace.shell(
            '[ "$(cat state 2>&1)" = four ] && exit; echo "with $DEPLOY_TOKEN"; exit 3', "resume.sh"
        ),
    )

    assert RESUME_EQUALS in session.failed()
    assert "hunter2" not in session.output
    for path in (session.kept / "job").rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


def test_over_the_cap_only_the_description_is_kept(workplace: Workplace) -> None:
    session = failed_session(workplace, "--checkpoint-keep", "0")

    wrecks = list((session.kept / "job" / "wrecks").iterdir())
    assert wrecks
    for wreck in wrecks:
        assert (wreck / "about.txt").exists()
        assert (wreck / "resume.txt").exists()
    states = [path for wreck in wrecks for path in wreck.glob("w/**/*") if path.is_file()]
    assert sum(path.stat().st_size for path in states) == 0


def test_a_new_examination_forgets_the_old_wrecks(workplace: Workplace) -> None:
    session = failed_session(workplace)
    wrecks = session.kept / "job" / "wrecks"
    assert list(wrecks.iterdir())

    again = workplace.judge_job(workplace.shell(MENDED), CHECK)

    assert again.failed() == set()
    assert not wrecks.exists()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
