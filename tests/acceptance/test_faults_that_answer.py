"""Full disks, failing calls, signals and kills in a row, as a user meets them.

Each job is recorded once. What a session would try is not tried here for the most part (no time is
left for it): its points are asked for one by one, by the name that a replay line gives them.
"""

from __future__ import annotations

import re
import shlex

from checkpoint_contracts import archive, judge
from checkpoint_contracts.no_space import no_space_is_survived
from checkpoint_contracts.verdict import Outcome
from tests.acceptance.sessions import PYTHON, Session, Workplace, job
from tests.subjects.matrix import FOLDER

pytest_plugins = ["pytester"]

FULL = "no-space-is-survived"
ERRORS = "io-error-is-not-success"
CLEAN = "preemption-is-clean"
LITTER = "leaves-no-litter"
ONCE = "effects-fire-once"
OWN = "owns-only-its-own"
ALONE = "one-writer"

COPIES = """
say() { echo "$1" >> "$CHECKPOINT_EVENTS"; }
for stage in a b; do
    [ -e $stage ] && continue
    say "start $stage"
    head -c 4000 /dev/zero > $stage.tmp; mv $stage.tmp $stage
    say "done $stage"
done
"""
"""Nothing looks whether it went well."""

CLOSES = """
import os, sys, tempfile
os.chdir(sys.argv[1])
for name in ("a", "b"):
    if not os.path.exists(name):
        handle, temporary = tempfile.mkstemp(dir=".")
        left = b"x" * 4000
        while left:
            left = left[os.write(handle, left) :]
        try:
            os.close(handle)
        except OSError:
            continue
        os.rename(temporary, name)
"""
"""A close that fails is passed over; the file has another name each time."""

CHECK = "stat -c %s {workspace}/a {workspace}/b"
NO_TIME = ("--checkpoint-self-check=0", "--checkpoint-time-budget=0.000001")


def of_script(name: str, *more: str) -> list[str]:
    script = shlex.quote(str(FOLDER / f"{name}.py"))
    run = f"{PYTHON} {script} run {{workspace}}"
    return [*job(run, f"{PYTHON} {script} check {{workspace}}"), *more]


def recorded(workplace: Workplace, contract: str, *arguments: str) -> Session:
    """A session that tries nothing, and passes nothing."""
    session = workplace.judge(*arguments, *NO_TIME, f"{session_name(arguments)}::{contract}")
    assert session.item(contract, session_name(arguments)).verdict == "inconclusive"
    return session


def session_name(arguments: tuple[str, ...]) -> str:
    words = shlex.split(arguments[1])
    return next(word for word in words if word.endswith((".py", ".sh"))).split("/")[-1][:-3]


def replayed(workplace: Workplace, contract: str, point: str, *arguments: str) -> Session:
    name = session_name(arguments)
    return workplace.judge(*arguments, f"--checkpoint-replay={name}::{contract}@{point}")


def test_a_full_disk_is_told_kept_and_shown_again(workplace: Workplace) -> None:
    run = workplace.shell(COPIES)
    arguments = (*job(run, CHECK), "--checkpoint-faults=no-space")
    session = workplace.judge(*arguments, "--checkpoint-self-check=0", f"job::{FULL}")

    text = session.item(FULL).text
    assert text.splitlines()[0] == (
        "job: the disk is full at step 3 (write a.tmp (4000 bytes at 0); 0 blocks): "
        "the run exits 0 with another result"
    )
    assert "operation: the disk is full at step 3 (" in text
    assert "(of 10 steps of the undisturbed run)" in " ".join(text.split())
    assert "→     3 write a.tmp (4000 bytes at 0)" in text
    assert "in the directory then:\n    a  0 bytes" in text
    assert "No space left on device" in text
    assert "note: the disk was full by the kit's own count of blocks and inodes" in text
    wreck = session.kept / "job" / "wrecks" / f"{FULL}-0.room-0"
    assert (wreck / "w" / "a").read_bytes() == b""
    assert "No space left" in (wreck / "1-run.txt").read_text()
    kept = archive.load((session.kept / "job" / "evidence.json").read_text())
    assert judge(kept, no_space_is_survived).outcome is Outcome.FAILED

    line = shlex.split(text.splitlines()[-1])[3:]
    assert line[-1] == f"job::{FULL}@0.room-0"
    again = workplace.judge(*(word for word in line if word not in workplace.always()))
    assert again.item(FULL).text.splitlines()[0] == text.splitlines()[0]
    for point in ("0.room-1", "0.room-1-edquot", "0.inodes-1"):
        assert replayed(workplace, FULL, point, *arguments).failed() == {FULL}

    workplace.shell("set -e\n" + COPIES)  # mended
    for point in ("0.room-1", "0.inodes-1"):
        assert replayed(workplace, FULL, point, *arguments).verdicts() == {FULL: "passed"}


def test_a_point_that_is_none_is_a_sentence(workplace: Workplace) -> None:
    arguments = (*job(workplace.shell(COPIES), CHECK), "--checkpoint-faults=no-space")
    recorded(workplace, FULL, *arguments)
    for point in ("0.room-4", "0.other-1", "3.room-1", "0.room-1-other", "1.kill"):
        session = replayed(workplace, FULL, point, *arguments)
        assert session.ret == 4
        assert f"there is no trial {point} of {FULL}: copy the replay line" in session.output


def test_calls_that_fail_are_found_again_by_their_names(workplace: Workplace) -> None:
    arguments = of_script("mutant_fsync_retried_and_trusted", "--checkpoint-faults=io-error")
    recorded(workplace, ERRORS, *arguments)
    name = session_name(tuple(arguments))

    def verdict(point: str) -> str:
        return replayed(workplace, ERRORS, point, *arguments).item(ERRORS, name).verdict

    assert verdict("4.eio+8.power-loss-names-kept-data-lost") == "failed"
    for point in ("4.eio", "2.erofs-on", "3.short", "3.edquot", "4.close-eio"):
        assert verdict(point) == "passed", point


def test_signals_are_found_again_by_their_names(workplace: Workplace) -> None:
    arguments = of_script(
        "mutant_publishes_on_exception",
        "--checkpoint-faults=signal",
        "--checkpoint-capability=preemption",
        "--checkpoint-grace=5",
    )
    recorded(workplace, CLEAN, *arguments)
    name = session_name(tuple(arguments))
    text = replayed(workplace, CLEAN, "3.sigterm", *arguments).item(CLEAN, name).text
    assert text.splitlines()[0] == (
        f"{name}: SIGTERM after step 3 (write a.tmp (1 byte at 0)): "
        "the resume exits 0 with another result"
    )
    assert "publish a file only where its block ended without an exception" in " ".join(
        text.split()
    )
    for point, verdict in (("1.sigint", "passed"), ("3.sigint+5.kill", "failed")):
        session = replayed(workplace, CLEAN, point, *arguments)
        assert session.item(CLEAN, name).verdict == verdict, session.output


def test_a_job_that_does_not_react_is_killed_when_its_grace_is_over(workplace: Workplace) -> None:
    run = workplace.shell("trap '' TERM\necho one > a; sleep 30; echo two > b")
    slow = job(run, "cat {workspace}/a {workspace}/b")
    mended = run.replace("job.sh", "quick.sh")
    workplace.shell("trap '' TERM\necho one > a; echo two > b", name="quick.sh")
    arguments = (*job(mended, slow[-1]), "--checkpoint-faults=signal")
    arguments += ("--checkpoint-capability=preemption", "--checkpoint-grace=0.2")
    arguments += ("--checkpoint-deadline=1",)
    recorded(workplace, CLEAN, *arguments)
    workplace.shell("trap '' TERM\necho one > a; sleep 30; echo two > b", name="quick.sh")
    session = replayed(workplace, CLEAN, "1.sigterm", *arguments)
    # The resume hangs as the run did; that one was ended by its grace, long before it was done.
    assert "run (died by signal 9) printed" in session.item(CLEAN, "quick").text


def test_kills_in_a_row_are_found_again_and_told_where_nobody_judges(workplace: Workplace) -> None:
    arguments = of_script("mutant_temp_name_per_attempt", "--checkpoint-faults=crash-loop")
    name = session_name(tuple(arguments))
    session = workplace.judge(*arguments, *NO_TIME, f"{name}::{LITTER}")
    assert session.item(LITTER, name).verdict == "not applicable"
    (note,) = [one for one in session.notes if "names more" in one]
    assert "it had 1, 2, 3, 4, 5 names more than a finished job has" in note
    declared = [*arguments, "--checkpoint-capability=cleans-up"]
    recorded(workplace, LITTER, *declared)
    again = replayed(workplace, LITTER, "2.crash-loop", *declared)
    assert again.item(LITTER, name).text.startswith(
        f"{name}: killed 5 times in a row after step 2 (create .state.json."
    )


def test_a_lost_reply_and_a_kill_after_an_effect_are_found_again(workplace: Workplace) -> None:
    arguments = of_script(
        "mutant_effect_new_id",
        "--checkpoint-faults=kill,lost-reply",
        "--checkpoint-capability=effects",
    )
    recorded(workplace, ONCE, *arguments)
    name = session_name(tuple(arguments))
    text = replayed(workplace, ONCE, "6.lost-reply", *arguments).item(ONCE, name).text
    headline = text.splitlines()[0]
    assert headline.startswith(f'{name}: the reply is lost at step 6 (effect "publish ')
    assert headline.endswith("): arrived too often: publish (3 for 2)")
    session = replayed(workplace, ONCE, "3.kill", *arguments)
    assert session.item(ONCE, name).verdict == "failed", session.output
    wreck = next(workplace.path.glob(f".checkpoint-contracts/{name}/wrecks/{ONCE}-3.kill"))
    assert (wreck / "effects").read_text().count("publish") == 1


def test_bystanders_are_put_beside_it_again(workplace: Workplace) -> None:
    arguments = of_script("mutant_removes_by_prefix", "--checkpoint-faults=bystander")
    recorded(workplace, OWN, *arguments)
    name = session_name(tuple(arguments))
    text = replayed(workplace, OWN, "0.bystander", *arguments).item(OWN, name).text
    headline, *_ = text.splitlines()
    # As the job's own name is made up, in which one letter in 37 is an underscore.
    assert headline.startswith(
        f"{name}: killed before the first operation and resumed beside others: $TMPDIR/render-"
    )
    assert headline.endswith(", which is not its own, is gone")


def test_a_grace_that_is_no_duration_is_a_sentence(workplace: Workplace) -> None:
    run = workplace.shell(COPIES)
    session = workplace.judge_job(run, CHECK, "--checkpoint-grace=never")
    assert session.ret == 4
    assert "--checkpoint-grace 'never' is no duration" in session.output


def test_second_starts_and_a_dead_owner_are_found_again(workplace: Workplace) -> None:
    arguments = of_script(
        "mutant_lock_checked_then_created",
        "--checkpoint-faults=double-start",
        "--checkpoint-capability=exclusive",
    )
    recorded(workplace, ALONE, *arguments)
    name = session_name(tuple(arguments))
    late = replayed(workplace, ALONE, "1.late-start", *arguments).item(ALONE, name)
    headline, *_ = late.text.splitlines()
    assert headline.startswith(f"{name}: a start that was put aside before step 1 (create lock.")
    assert headline.endswith(
        ') goes on while another stands after step 4 (event "start one"): the second start works '
        "too, and writes 'start one' and 5 more lines"
    )
    assert "second start (exit 0) printed:" in late.text
    wreck = workplace.path / f".checkpoint-contracts/{name}/wrecks/{ALONE}-1.late-start"
    assert (wreck / "second-start.txt").exists()
    for point in ("4.second-start-after", "2.dead-holder"):
        session = workplace.judge(*arguments, "--checkpoint-replay", f"{name}::{ALONE}@{point}")
        assert session.item(ALONE, name).verdict == "passed", session.output


def test_what_has_another_name_when_it_is_made_again_is_known_by_its_place(
    workplace: Workplace,
) -> None:
    script = workplace.write("job.py", CLOSES)
    session = workplace.judge(
        *job(f"{PYTHON} {shlex.quote(str(script))} {{workspace}}", CHECK),
        *("--checkpoint-faults=io-error", "--checkpoint-self-check=0", f"job::{ERRORS}"),
    )

    item = session.item(ERRORS)
    assert item.verdict == "failed", session.output
    told = r"job: EIO after step 2 \(close tmp\w+\): the run exits 0 with a check that exits 1\n"
    assert re.match(told, item.text), "made again, it is the same, and seen again"
    assert "@2.close-eio" in item.text
