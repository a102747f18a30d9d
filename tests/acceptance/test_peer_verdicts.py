"""Verdicts that are easily got wrong: what each small job is told, down to the words.

Every job here is one that a plausible judge would misjudge: it would trust the last bytes, the exit
code or one way of writing files. Sound jobs stand at the end: on them all must be silent.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.acceptance.sessions import (
    KEEPS_WORK,
    NEVER_CORRUPT,
    PYTHON,
    RESUME_EQUALS,
    SKIPS_DONE,
    Session,
    Workplace,
)

pytest_plugins = ["pytester"]

CAT_RESULT = "cat {workspace}/result"


def python(workplace: Workplace, text: str) -> str:
    """A Python script that is told its workspace; returns the command that runs it."""
    path = workplace.write("job.py", f"import os, sys\nos.chdir(sys.argv[1])\n{text}\n")
    return f"{PYTHON} {shlex.quote(str(path))} {{workspace}}"


def wreck_of(session: Session, contract: str) -> Path:
    """The folder that the failure text names."""
    (line,) = [one for one in session.item(contract).text.splitlines() if one.startswith("wreck: ")]
    return Path(line.removeprefix("wreck: "))


# --- written in place ---


def test_written_in_place_through_os_write(workplace: Workplace) -> None:
    run = python(
        workplace,
        """
import json
state = json.load(open("state.json")) if os.path.exists("state.json") else [0]
while state[0] < 2:
    file = os.open("state.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    state[0] += 1
    os.write(file, json.dumps(state).encode())
    os.close(file)
""",
    )

    session = workplace.judge_job(run, "cat {workspace}/state.json")

    assert session.ret == 1
    assert session.failed() == {NEVER_CORRUPT, RESUME_EQUALS}
    text = session.item(RESUME_EQUALS).text.splitlines()
    assert text[0] == "job: killed at step 1 (create state.json): resume exits 1"
    assert text[2:5] == [
        "promise: after any kill, resume ends with the result of the undisturbed run, with no hand",
        "    cleaning (resume-equals-uninterrupted)",
        "operation: kill after step 1 of 4: create state.json",
    ]
    here = text.index("in the directory then:")
    assert text[here - 5 : here] == [
        "around it:",
        "    →     1 create state.json",
        "          2 write state.json (3 bytes at 0)",
        "          3 truncate state.json to 0",
        "          4 write state.json (3 bytes at 0)",
    ]
    assert text[here + 1] == "    state.json  0 bytes"
    assert "expected: the resume exits 0 and the check says: [2]" in text
    seen = text.index("seen:")
    assert text[seen + 1].startswith(
        "    the resume exits 1 and says last: json.decoder.JSONDecode"
    )
    assert text[seen + 2] == "    a second resume fails too: it exits 1"
    assert text[-1].startswith("replay: pytest --checkpoint-contracts ")
    assert text[-1].endswith(" --checkpoint-replay job::resume-equals-uninterrupted@1.kill")
    wreck = wreck_of(session, RESUME_EQUALS)
    assert wreck.parent == session.kept / "job" / "wrecks"
    assert (wreck / "w" / "state.json").read_bytes() == b""
    assert "JSONDecodeError" in (wreck / "resume.txt").read_text()
    both = session.item(NEVER_CORRUPT)
    assert both.properties["faults_failed"] == "kill,torn"
    assert "killed at step 1 (create state.json): resume exits 1" in both.text
    assert (
        "write cut short at step 2 (write state.json (3 bytes at 0)): resume exits 1" in both.text
    )


def test_written_in_place_by_a_child_process(workplace: Workplace) -> None:
    run = workplace.shell(
        """
[ -e state ] && { read -r all < state && [ "$all" = "12 ok" ]; exit $((3 * $?)); }
sh -c 'printf "12 ok\\n" > state'
"""
    )

    session = workplace.judge_job(run, "cat {workspace}/state")

    assert session.failed() == {NEVER_CORRUPT, RESUME_EQUALS}
    torn = session.item(NEVER_CORRUPT)
    assert torn.properties["faults_failed"] == "kill,torn"
    assert "killed at step 1 (create state): resume exits 3" in torn.text
    assert "write cut short at step 2 (write state (6 bytes at 0)): resume exits 3" in torn.text
    assert (wreck_of(session, RESUME_EQUALS) / "w" / "state").read_bytes() == b""


def test_a_prefix_that_still_parses(workplace: Workplace) -> None:
    """After every kill all is well; only the torn write shows it, and nothing ever complains."""
    run = workplace.shell(
        """
if [ -s count ]; then read -r count < count || :; else count=101; printf %s $count > count; fi
[ -e result ] || { echo "$count files" > result.tmp; mv result.tmp result; }
"""
    )

    session = workplace.judge_job(run, CAT_RESULT)

    assert session.failed() == {NEVER_CORRUPT}
    item = session.item(NEVER_CORRUPT)
    assert item.properties["faults_failed"] == "torn"
    text = item.text.splitlines()
    assert text[0] == (
        "job: write cut short at step 2 (write count (3 bytes at 0)): resume exits 0 with another "
        "result than the undisturbed run"
    )
    cut = (wreck_of(session, NEVER_CORRUPT) / "w" / "count").read_text()
    assert cut in {"1", "10"}
    assert "expected: the check says: 101 files" in text
    assert f"seen: the check says: {cut} files" in text
    assert ("    count  1 byte" if cut == "1" else "    count  2 bytes") in text


# --- a status that runs ahead ---


def test_status_before_output_though_the_report_matches(workplace: Workplace) -> None:
    """The report's bytes are right after every crash; the check looks at the outputs."""
    run = workplace.shell(
        """
publish() { echo "$2" > "$1.tmp"; mv "$1.tmp" "$1"; }
[ -e status ] || { publish status rendered; publish frame pixels; }
[ -e report ] || publish report "1 frame"
"""
    )

    session = workplace.judge_job(run, "cat {workspace}/report {workspace}/frame")

    # A torn write of the frame cannot help: it is never looked at again.
    assert session.failed() == {RESUME_EQUALS, NEVER_CORRUPT}
    item = session.item(RESUME_EQUALS)
    assert (
        "killed at step 3 (rename status.tmp → status): resume exits 0, but the check exits 1"
    ) in item.text
    text = item.text.splitlines()
    assert "    status  9 bytes" in text
    expected = text.index("expected:")
    assert text[expected : expected + 6] == [
        "expected:",
        "    the check exits 0 and says: 1 frame",
        "    pixels",
        "seen:",
        "    the check exits 1 and says: 1 frame",
        "    cat: {workspace}/frame: No such file or directory",
    ]
    wreck = wreck_of(session, RESUME_EQUALS)
    assert (wreck / "w" / "status").read_text() == "rendered\n"
    assert not (wreck / "w" / "frame").exists()
    assert (wreck / "check.txt").read_text().startswith("1 frame\n")


def test_the_same_job_is_silent_where_the_check_reads_the_report_only(workplace: Workplace) -> None:
    """What the check does not look at is not judged: the counter-proof of the test above."""
    run = workplace.shell(
        """
publish() { echo "$2" > "$1.tmp"; mv "$1.tmp" "$1"; }
[ -e status ] || { publish status rendered; publish frame pixels; }
[ -e report ] || publish report "1 frame"
"""
    )

    session = workplace.judge_job(run, "cat {workspace}/report")

    assert session.failed() == set()


def test_a_stage_that_is_skipped(workplace: Workplace) -> None:
    """Status first, killed before the work: the resume never starts it."""
    run = workplace.shell(
        """
for stage in a b; do
    [ -e "$stage.done" ] && continue
    : > "$stage.done"
    echo "start $stage" >> "$CHECKPOINT_EVENTS"
    : > "$stage"
    echo "done $stage" >> "$CHECKPOINT_EVENTS"
done
"""
    )

    session = workplace.judge_job(run, "ls {workspace}")

    assert session.failed() == {RESUME_EQUALS, SKIPS_DONE}
    assert (
        session.item(SKIPS_DONE)
        .text.splitlines()[0]
        .startswith("job: killed at step 1 (create a.done): resume ")
    )


# --- no checkpoint ---


def test_no_checkpoint_at_all(workplace: Workplace) -> None:
    run = workplace.shell(
        """
: > progress
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf . >> progress; done
echo 42 > result.tmp
mv result.tmp result
"""
    )

    session = workplace.judge_job(run, CAT_RESULT)

    assert session.failed() == {KEEPS_WORK}
    assert session.verdicts()[RESUME_EQUALS] == "passed"
    text = session.item(KEEPS_WORK).text
    assert text.splitlines()[0] == (
        "job: resumed after it had finished: resume writes 100% of the run's bytes again: it "
        "starts over even when it is done"
    )
    assert "it does not resume, it restarts" in text


def test_only_the_final_result_is_written(workplace: Workplace) -> None:
    run = workplace.shell(
        """
[ -e result ] && exit
: > result.tmp
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $step >> result.tmp; done
mv result.tmp result
"""
    )

    session = workplace.judge_job(run, CAT_RESULT)

    assert session.failed() == {KEEPS_WORK}
    first, *_ = session.item(KEEPS_WORK).text.splitlines()
    assert first.endswith(
        "resume repeats 100% of the run (bytes written): it does not resume, it restarts"
    )
    assert first.startswith("job: killed at step ")


def test_checkpoints_that_are_never_read(workplace: Workplace) -> None:
    run = workplace.shell(
        """
[ -e result ] && exit
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $step > at-$step; done
mv at-20 result
"""
    )

    session = workplace.judge_job(run, CAT_RESULT, "--checkpoint-faults", "kill")

    assert session.failed() == {KEEPS_WORK}
    assert "it does not resume, it restarts" in session.item(KEEPS_WORK).text.splitlines()[0]


# --- sound jobs ---


def silent(session: Session) -> None:
    """Passed by every contract that applies; the two that always apply are among them."""
    assert session.ret == 0, session.output
    assert set(session.verdicts().values()) <= {"passed", "not applicable"}
    assert session.verdicts()[RESUME_EQUALS] == "passed"
    assert session.verdicts()[NEVER_CORRUPT] == "passed"


def test_a_correct_append_journal_passes(workplace: Workplace) -> None:
    """Grows in place and is torn at every byte; each record carries its checksum."""
    run = python(
        workplace,
        """
import zlib
NAMES = ("one", "two", "three")
journal = open("journal", "a+b", buffering=0)
journal.seek(0)
done, whole = [], 0
for line in journal.read().split(b"\\n")[:-1]:
    name, _, checksum = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(name):
        break
    done.append(name.decode())
    whole += len(line) + 1
journal.truncate(whole)
for name in NAMES[len(done):]:
    data = name.encode()
    journal.write(data + b" %08x\\n" % zlib.crc32(data))
    os.fsync(journal.fileno())
""",
    )

    session = workplace.judge_job(run, "cat {workspace}/journal")

    silent(session)
    assert int(session.item(NEVER_CORRUPT).properties["states_explored"]) > 30


def test_sqlite_in_wal_mode_passes(workplace: Workplace) -> None:
    run = python(
        workplace,
        """
import sqlite3
database = sqlite3.connect("state.sqlite", isolation_level=None)
if sys.argv[2:] == ["check"]:
    print(database.execute("select value from results").fetchall())
    sys.exit()
database.execute("pragma page_size=512")
database.execute("pragma journal_mode=wal")
database.execute("pragma synchronous=full")
database.execute("create table if not exists results (step integer primary key, value)")
database.execute("insert or ignore into results values (1, 42)")
database.close()
""",
    )

    session = workplace.judge_job(run, f"{run} check", "--checkpoint-faults", "kill")

    silent(session)


def test_odd_file_names_pass(workplace: Workplace) -> None:
    run = python(
        workplace,
        """
folder = b"a b\\n\\xff"
os.makedirs(folder, exist_ok=True)
for name in (b" two  spaces ", b"tab\\there\\n", b"\\xff\\xfe", b"-n", b"q'\\"$x \\xe2\\x86\\x92"):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with open(path + b" tmp", "wb") as file:
            file.write(b"7")
        os.rename(path + b" tmp", path)
""",
    )
    check = ["sh", "-c", 'cd "$1" && find . -type f -size 1c | LC_ALL=C sort', "sh", "{workspace}"]

    session = workplace.judge_job(run, shlex.join(check), "--checkpoint-faults", "kill")

    silent(session)
    evidence = json.loads((session.kept / "job" / "evidence.json").read_text())
    assert "\\xff" in json.dumps(evidence)
