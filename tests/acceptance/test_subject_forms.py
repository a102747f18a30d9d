"""Every way to name a subject, and every option, on jobs of a few operations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest

from checkpoint_contracts import CATALOGUE
from pytest_checkpoint.phases.deadlines import Deadlines
from tests.acceptance.sessions import (
    KEEPS_WORK,
    NEVER_CORRUPT,
    PYTHON,
    RESUME_EQUALS,
    SKIPS_DONE,
    Workplace,
    job,
)

pytest_plugins = ["pytester"]

SOUND = "[ -e a ] || { printf A > a.tmp; mv a.tmp a; }"
IN_PLACE = "[ -e a ] || printf A > a"
"""Empty after its first operation, and taken for done; a write of one byte cannot be torn."""
CHECK = "cat {workspace}/a"
WHOLE_OUTPUTS = "no-partial-under-final-name"

IMPORT = "from pytest_checkpoint.api import CommandSubject, checkpoint_subject\n"


def declaration(name: str, run: str, more: str = "", decorator: str = "@checkpoint_subject") -> str:
    return f"""
{decorator}
def {name}():
    return CommandSubject(run={run!r}, check={CHECK!r}{more})
"""


# --- the command form ---


def test_the_command_form(workplace: Workplace) -> None:
    session = workplace.judge_job(workplace.shell(SOUND), CHECK, "--checkpoint-self-check", "5")

    assert session.ret == 0
    assert set(session.verdicts()) == set(CATALOGUE)
    assert session.verdicts()[RESUME_EQUALS] == "passed"
    assert session.verdicts()[NEVER_CORRUPT] == "passed"
    assert session.verdicts()[SKIPS_DONE] == "not applicable"
    item = session.item(RESUME_EQUALS)
    assert item.properties == {
        "contract": RESUME_EQUALS,
        "verdict": "passed",
        "faults_failed": "",
        "states_explored": "4",
        "states_total": "4",
        "replay": "",
    }
    assert session.item(SKIPS_DONE).text == (
        "not applicable: no stages were seen: the undisturbed run wrote no name with both a start "
        "and a done line to $CHECKPOINT_EVENTS"
    )
    assert "1 subject, 3 operations, 4 unique crash states explored" in session.lines
    # One operation × kind each: nothing, created, written, renamed.
    assert any(line.split()[:5] == ["job", "3", "kill", "4", "4"] for line in session.lines)


def test_nothing_else_is_collected(workplace: Workplace) -> None:
    workplace.write("test_other.py", "raise RuntimeError('imported')\n")

    session = workplace.judge_job(workplace.shell(SOUND), CHECK)

    assert session.ret == 0


def test_every_option_of_the_command_form(workplace: Workplace) -> None:
    """The setup's file is durable; the resume is another command than the run."""
    setup = workplace.shell("printf B > input", "setup.sh")
    resume = workplace.shell("[ -e a ] || { cp input b.tmp; mv b.tmp a; }", "resume.sh")

    session = workplace.judge(
        *job(workplace.shell("cp input a.tmp; mv a.tmp a", "first.sh"), CHECK),
        *("--checkpoint-resume", resume, "--checkpoint-setup", setup),
        *("--checkpoint-outputs", "a", "--checkpoint-outputs", "[a-b]"),
        *("--checkpoint-ephemeral", "*.tmp", "--checkpoint-name", "copier"),
        *("--checkpoint-capability", "cleans-up"),
    )

    assert session.ret == 0, session.output
    assert session.verdicts("copier")[RESUME_EQUALS] == "passed"
    assert (session.kept / "copier" / "evidence.json").exists()


def test_the_setup_is_there_before_the_first_operation(workplace: Workplace) -> None:
    """A job that has consumed its input cannot go on; the setup is not run again."""
    setup = workplace.shell("printf B > input", "setup.sh")
    run = workplace.shell("[ -e a ] || { rm input && printf A > a.tmp && mv a.tmp a; }")

    session = workplace.judge_job(run, CHECK, "--checkpoint-setup", setup)

    assert session.failed() == {RESUME_EQUALS, NEVER_CORRUPT}
    assert "killed at step 1 (unlink input): resume exits 1" in session.item(RESUME_EQUALS).text
    assert "killed before the first operation" not in session.item(RESUME_EQUALS).text


def test_a_workspace_with_the_same_path_every_time(workplace: Workplace) -> None:
    """Programs store absolute paths; the workspace is empty and private at the start."""
    run = workplace.shell(
        """
[ -e a ] && exit
[ "$1" = "$CHECKPOINT_WORKSPACE" ] && [ -d "$TMPDIR" ] && [ -z "$(ls -A "$TMPDIR")" ] || exit 8
[ "$PYTHONDONTWRITEBYTECODE" = 1 ] || exit 7
[ -e path ] || { echo "$PWD $(stat -c %a .)" > path.tmp; mv path.tmp path; }
[ "$(cat path)" = "$PWD 700" ] || exit 6
mv path a
"""
    )

    session = workplace.judge_job(run, "grep -c . {workspace}/a", "--checkpoint-faults", "kill")

    assert session.ret == 0, session.output


def test_tmpdir_is_a_recorded_root(workplace: Workplace) -> None:
    """Its operations are crash points, and what lay in it lies there again."""
    run = workplace.shell(
        """
[ -e a ] && exit
[ -e "$TMPDIR/half" ] && exit 3
printf A > "$TMPDIR/half"
mv "$TMPDIR/half" a
"""
    )

    session = workplace.judge_job(run, CHECK)

    assert session.failed() == {RESUME_EQUALS, NEVER_CORRUPT}
    wreck = session.kept / "job" / "wrecks" / f"{RESUME_EQUALS}-1.kill"
    assert (wreck / "t" / "half").read_bytes() == b""
    assert list((wreck / "w").iterdir()) == []


# --- the decorator ---


def test_in_a_test_module(workplace: Workplace) -> None:
    """Ordinary tests of the module are replaced by the contract items."""
    workplace.write(
        "test_jobs.py",
        IMPORT + declaration("job", workplace.shell(SOUND)) + "\ndef test_other(): assert False\n",
    )

    session = workplace.judge()

    assert session.ret == 0
    assert session.verdicts()[RESUME_EQUALS] == "passed"
    assert len(session.items) == len(CATALOGUE)


def test_in_a_conftest(workplace: Workplace) -> None:
    workplace.write(
        "conftest.py",
        IMPORT
        + declaration(
            "_job", workplace.shell(SOUND), decorator='@checkpoint_subject(name="nightly job")'
        ),
    )

    session = workplace.judge()

    assert session.ret == 0
    assert session.verdicts("nightly job")[RESUME_EQUALS] == "passed"
    assert (session.kept / "nightly_job").is_dir()


def test_every_field_of_the_decorator(workplace: Workplace) -> None:
    more = f""",
        resume={shlex.split(workplace.shell(SOUND, "resume.sh"))!r},
        setup={workplace.shell(": > input", "setup.sh")!r},
        outputs=["a"], ephemeral=("*.tmp",), capabilities={{"cleans-up"}},
        not_applicable={{{NEVER_CORRUPT!r}: "it is a toy"}}, resume_attempts=2"""
    workplace.write("test_jobs.py", IMPORT + declaration("job", workplace.shell(SOUND), more))

    session = workplace.judge()

    assert session.ret == 0, session.output
    assert session.item(NEVER_CORRUPT).text == "not applicable: it is a toy"
    assert session.verdicts()[RESUME_EQUALS] == "passed"


@pytest.mark.parametrize(("attempts", "verdict"), [(1, "failed"), (2, "passed")])
def test_resume_attempts(workplace: Workplace, attempts: int, verdict: str) -> None:
    """The first resume cleans up and says so; the second goes on."""
    run = workplace.shell("[ -e a.tmp ] && { rm a.tmp; exit 3; }; " + SOUND)
    workplace.write(
        "test_jobs.py", IMPORT + declaration("job", run, f", resume_attempts={attempts}")
    )

    session = workplace.judge()

    assert session.verdicts()[RESUME_EQUALS] == verdict, session.output
    if verdict == "failed":
        assert "    a second resume succeeds" in session.item(RESUME_EQUALS).text.splitlines()


def test_an_expected_failure(workplace: Workplace) -> None:
    known = f', expected_failures={{{RESUME_EQUALS!r}: "issue 7"}}'
    workplace.write("test_jobs.py", IMPORT + declaration("job", workplace.shell(IN_PLACE), known))

    session = workplace.judge()

    assert session.ret == 0, session.output
    assert session.item(RESUME_EQUALS).verdict == "failed"
    assert session.item(RESUME_EQUALS).text == "issue 7"
    assert any("failed as expected" in line for line in session.lines)


def test_an_expected_failure_that_does_not_come(workplace: Workplace) -> None:
    """Strict: passed and not applicable are both failures then."""
    known = f', expected_failures={{{RESUME_EQUALS!r}: "issue 7", {SKIPS_DONE!r}: "issue 8"}}'
    workplace.write("test_jobs.py", IMPORT + declaration("job", workplace.shell(SOUND), known))

    session = workplace.judge()

    assert session.ret == 1
    assert session.item(RESUME_EQUALS).text.strip() == (
        f"{RESUME_EQUALS} holds, although it is expected to fail (issue 7): "
        "take it out of expected_failures"
    )
    assert session.item(SKIPS_DONE).text.startswith(f"{SKIPS_DONE} is not applicable (no stages ")


def test_two_subjects_in_one_session(workplace: Workplace) -> None:
    workplace.write("test_one.py", IMPORT + declaration("one", workplace.shell(SOUND, "one.sh")))
    workplace.write("test_two.py", IMPORT + declaration("two", workplace.shell(IN_PLACE, "two.sh")))

    session = workplace.judge()

    assert session.ret == 1
    assert session.failed("one") == set()
    assert session.failed("two") == {RESUME_EQUALS}
    assert {path.name for path in session.kept.iterdir()} == {
        ".gitignore",
        ".sessions",
        "one",
        "two",
    }
    assert "2 subjects, 5 operations, 7 unique crash states explored" in session.lines


def test_two_subjects_in_pyproject(workplace: Workplace) -> None:
    """With an option in the same file; a decorated subject is judged beside them."""
    run = workplace.shell("[ -e a ] || { cp input b.tmp; mv b.tmp a; }", "copy.sh")
    workplace.write(
        "pyproject.toml",
        f"""
[tool.pytest.ini_options]
checkpoint_max_states = 50

[tool.checkpoint-contracts.subjects.copier]
run = {json.dumps(run)}
check = ["cat", "{{workspace}}/a"]
setup = {json.dumps(workplace.shell("printf B > input", "setup.sh"))}
outputs = ["a"]
not_applicable = {{ {NEVER_CORRUPT} = "it is a toy" }}

[tool.checkpoint-contracts.subjects."in place"]
run = {json.dumps(workplace.shell(IN_PLACE, "in_place.sh"))}
check = "{CHECK}"

[tool.checkpoint-contracts.subjects."in place".expected_failures]
{KEEPS_WORK} = "it is as short as can be"
""",
    )
    workplace.write("test_jobs.py", IMPORT + declaration("job", workplace.shell(SOUND)))

    session = workplace.judge()

    assert session.ret == 1
    assert {item.subject for item in session.items.values()} == {"copier", "in place", "job"}
    assert session.failed("job") == session.failed("copier") == set()
    assert session.verdicts("copier")[RESUME_EQUALS] == "passed"
    assert session.verdicts("copier")[WHOLE_OUTPUTS] == "passed"
    assert session.item(NEVER_CORRUPT, "copier").text == "not applicable: it is a toy"
    assert session.failed("in place") == {RESUME_EQUALS}
    assert session.item(KEEPS_WORK, "in place").text.startswith(f"{KEEPS_WORK} is not applicable ")
    replay = session.item(RESUME_EQUALS, "in place").properties["replay"]
    assert "--checkpoint-max-states 50" in replay
    assert replay.endswith(f" --checkpoint-replay 'in place::{RESUME_EQUALS}@1.kill'")


def test_the_id_of_a_failed_line_runs_just_that(workplace: Workplace) -> None:
    workplace.write("test_one.py", IMPORT + declaration("one", workplace.shell(SOUND, "one.sh")))
    workplace.write("test_two.py", IMPORT + declaration("two", workplace.shell(IN_PLACE, "two.sh")))
    (line,) = [
        one for one in workplace.judge().lines if one.startswith("FAILED ") and RESUME_EQUALS in one
    ]

    session = workplace.judge(line.split()[1])

    assert session.ret == 1
    assert list(session.items) == [f"two::{RESUME_EQUALS}"]


# --- budgets and exit codes ---


def test_a_budget_that_covers_every_operation(workplace: Workplace) -> None:
    """Passed, and marked: the main cuts of the write were reached, the others were not."""
    run = workplace.shell(
        "[ -e a ] || { printf 'some thirty bytes in one write' > a.tmp; mv a.tmp a; }"
    )

    session = workplace.judge_job(run, CHECK, "--checkpoint-max-states", "12")

    assert session.ret == 0, session.output
    assert session.verdicts()[NEVER_CORRUPT] == "passed"
    item = session.item(NEVER_CORRUPT)
    explored, total = item.properties["states_explored"], item.properties["states_total"]
    assert explored == "12"
    assert int(total) > 12
    assert f"passed, sampled 12/{total}" in session.output


def test_a_budget_that_ends_too_early(workplace: Workplace) -> None:
    run = workplace.shell(
        "for n in 1 2 3 4; do [ -e $n ] || { printf ab > tmp; mv tmp $n; }; done; [ -e a ] || : > a"
    )

    session = workplace.judge_job(run, "ls {workspace}", "--checkpoint-max-states", "5")

    assert session.ret == 1
    assert session.verdicts()[RESUME_EQUALS] == "inconclusive"
    assert session.item(RESUME_EQUALS).text.startswith("inconclusive: the budget ended too early: ")
    assert "5 unique crash states explored" in session.output


def test_a_failure_counts_whatever_else_was_not_explored(workplace: Workplace) -> None:
    run = workplace.shell(
        """
[ -e a ] && [ ! -e 4 ] && exit 3
: > a
for n in 1 2 3 4; do printf ab > tmp; mv tmp $n; done
"""
    )

    session = workplace.judge_job(run, "ls {workspace}", "--checkpoint-max-states", "5")

    assert session.ret == 1
    assert {RESUME_EQUALS, NEVER_CORRUPT} <= session.failed()


def test_a_spent_time_budget(workplace: Workplace) -> None:
    session = workplace.judge_job(
        workplace.shell(SOUND), CHECK, "--checkpoint-time-budget", "0.000001"
    )

    assert session.ret == 1
    assert session.verdicts()[RESUME_EQUALS] == "inconclusive"


def test_exhaustive_knows_no_budget(workplace: Workplace) -> None:
    session = workplace.judge_job(
        *(workplace.shell(SOUND), CHECK, "--checkpoint-exhaustive"),
        *("--checkpoint-max-states", "1", "--checkpoint-time-budget", "0.000001"),
    )

    assert session.ret == 0, session.output
    assert "4 unique crash states explored" in session.output


def test_one_fault_only(workplace: Workplace) -> None:
    """A torn write would be caught; it was not asked for, and that is said."""
    run = workplace.shell("[ -s a ] || printf AB > a")

    session = workplace.judge_job(run, CHECK, "--checkpoint-faults", "kill")

    assert session.ret == 0, session.output
    assert f"job: {NEVER_CORRUPT}: the fault torn was not asked for" in session.notes
    assert workplace.judge_job(run, CHECK).failed() == {NEVER_CORRUPT}


def test_a_fault_that_no_contract_needs(workplace: Workplace) -> None:
    session = workplace.judge_job(workplace.shell(SOUND), CHECK, "--checkpoint-faults", "torn")

    assert session.item(RESUME_EQUALS).text == (
        "not applicable: it needs the fault kill, which was not asked for"
    )


def test_no_applicable_contract_is_never_exit_0(workplace: Workplace) -> None:
    session = workplace.judge(
        *job(workplace.shell(SOUND), CHECK), "--checkpoint-faults", "torn", f"job::{RESUME_EQUALS}"
    )

    assert session.ret == 4
    assert "ERROR: no contract is applicable: nothing was judged" in session.lines


# --- what is noted ---


def test_order_that_varies_between_runs(workplace: Workplace) -> None:
    """Two files in either order: a note, and no verdict."""
    workplace.write("turns", "")
    run = workplace.shell(
        """
printf x >> "$OLDPWD/turns"
first() { [ -e x ] || : > x; }
second() { [ -e y ] || : > y; }
if [ $(($(wc -c < "$OLDPWD/turns") % 2)) = 0 ]; then first; second; else second; first; fi
"""
    )

    session = workplace.judge_job(run, "ls {workspace}")

    assert session.ret == 0, session.output
    assert (
        "job: order varies between runs: operation 1 was 'create y' in the first run and "
        "'create x' in the second"
    ) in session.notes


def test_files_created_outside(workplace: Workplace) -> None:
    run = workplace.shell(
        SOUND + '\n: >> "$OLDPWD/report.log"; mkdir -p "$OLDPWD/__pycache__"; '
        ': >> "$OLDPWD/__pycache__/x.pyc"'
    )
    # The first of the two control runs creates them: the note is of the second one.
    script = workplace.path / "job.sh"
    script.write_text('rm -rf "$PWD/report.log"\n' + script.read_text())
    session = workplace.judge_job(
        run, CHECK, "--checkpoint-allow-outside", str(workplace.path / "report.log")
    )

    assert session.ret == 0, session.output
    assert f"job: files created outside the workspace: {workplace.path}/report.log" in session.notes


def test_allow_outside(workplace: Workplace) -> None:
    """Only what was named: a file beside it stays the user's."""
    workplace.write("mine", "old")
    workplace.write("precious", "old")
    run = workplace.shell(SOUND + f"; printf new > {workplace.path}/mine")
    allowed = ("--checkpoint-allow-outside", "mine")

    assert workplace.judge_job(run, CHECK, *allowed).ret == 0
    assert (workplace.path / "mine").read_text() == "new"
    run = workplace.shell(SOUND + f"; printf new > {workplace.path}/precious")
    assert workplace.judge_job(run, CHECK, *allowed).ret == 1
    assert (workplace.path / "precious").read_text() == "old"


# --- flaky, slow, hanging ---


def test_a_flaky_subject(workplace: Workplace) -> None:
    """It fails its resume from one state the first time only: no failure, and no pass."""
    workplace.write("failed-already", "")
    run = workplace.shell(
        """
if [ -e a.tmp ] && [ ! -s a.tmp ] && [ ! -s "$OLDPWD/failed-already" ]; then
    printf yes >> "$OLDPWD/failed-already"
    exit 3
fi
[ -e a ] || { printf A > a.tmp; mv a.tmp a; }
"""
    )

    session = workplace.judge_job(
        run, CHECK, "--checkpoint-allow-outside", str(workplace.path / "failed-already")
    )

    assert session.ret == 1
    assert session.verdicts()[RESUME_EQUALS] == "inconclusive"
    assert session.item(RESUME_EQUALS).text.strip() == (
        "inconclusive: flaky subject: not seen again when it was replayed: killed at step 1 "
        "(create a.tmp): resume exits 3"
    )


@pytest.fixture
def short_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay of a hang takes a minute at least; here, six times the deadline."""
    monkeypatch.setattr("pytest_checkpoint.phases.deadlines._LEAST_HANG_S", 0.1)


@pytest.fixture
def shorter_hangs(short_hangs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only twice the deadline, where the job never ends anyway."""
    monkeypatch.setattr("pytest_checkpoint.phases.deadlines._HANG_FACTOR", 2.0)


def test_the_replay_of_a_hang_has_a_minute() -> None:
    assert Deadlines(resume_s=2, check_s=20).for_a_hang() == Deadlines(resume_s=60, check_s=120)


HANGS = "[ -e a ] || { [ -e a.tmp ] && exec sleep 1000; : > a.tmp; mv a.tmp a; }"


@pytest.mark.usefixtures("shorter_hangs")
def test_a_resume_that_hangs(workplace: Workplace) -> None:
    session = workplace.judge_job(
        workplace.shell(HANGS), "ls {workspace}", "--checkpoint-deadline", "0.5"
    )

    assert session.failed() == {RESUME_EQUALS}
    text = session.item(RESUME_EQUALS).text.splitlines()
    assert text[0] == "job: killed at step 1 (create a.tmp): resume had not ended after 0.5 s"
    assert "resume (ended at its deadline, after 1 s) printed:" in text
    assert "seen: the resume had not ended after 0.5 s" in text


@pytest.mark.usefixtures("shorter_hangs")
def test_a_check_that_hangs(workplace: Workplace) -> None:
    check = workplace.shell("[ -s a ] || exec sleep 1000; cat a", "check.sh")
    setup = workplace.shell("printf B > a", "setup.sh")
    run = workplace.shell('[ "$(cat a)" = B ] || exit 0; printf A > a')

    session = workplace.judge_job(
        run, check, "--checkpoint-setup", setup, "--checkpoint-deadline", "0.5"
    )

    assert session.failed() == {RESUME_EQUALS}
    text = session.item(RESUME_EQUALS).text.splitlines()
    assert text[0] == (
        "job: killed at step 1 (truncate a to 0): resume exits 0, but the check had not ended "
        "after 0.5 s"
    )
    assert "check (ended at its deadline, after 1 s) printed:" in text


@pytest.mark.usefixtures("short_hangs")
def test_a_slow_resume_is_no_hang(workplace: Workplace) -> None:
    """A lease that runs out: it ends within the longer deadline, and well."""
    run = workplace.shell("[ -e a ] || { [ -e a.tmp ] && sleep 1; : > a.tmp; mv a.tmp a; }")

    session = workplace.judge_job(run, "ls {workspace}", "--checkpoint-deadline", "0.5")

    assert session.failed() == set()
    assert session.verdicts()[RESUME_EQUALS] == "passed"
    assert any(
        note.startswith(f"job: {RESUME_EQUALS}: killed at step 1 (create a.tmp): resumes after 1.")
        for note in session.notes
    )


@pytest.mark.usefixtures("shorter_hangs")
def test_known_hangs_are_not_tried_again(workplace: Workplace) -> None:
    """After two at the same operation its further states are left out, and counted."""
    path = workplace.write(
        "job.py",
        """
import os, sys, time
os.chdir(sys.argv[1])
if not os.path.exists("a"):
    if os.path.exists("log") and os.path.getsize("log"):
        time.sleep(1000)
    log = os.open("log", os.O_WRONLY | os.O_CREAT)
    for letter in b"12345":
        os.write(log, bytes([letter]))
    os.rename("log", "a")
""",
    )

    session = workplace.judge_job(
        f"{PYTHON} {path} {{workspace}}",
        CHECK,
        *("--checkpoint-deadline", "0.5", "--checkpoint-faults", "kill"),
    )

    assert RESUME_EQUALS in session.failed()
    text = " ".join(session.item(RESUME_EQUALS).text.split())
    assert "note: 3 of them were not tried (known hang)" in text
    item = session.item(RESUME_EQUALS)
    explored = int(item.properties["states_explored"])
    assert explored == int(item.properties["states_total"]) - 3


# --- stages ---


STAGES = """
for stage in one two; do
    [ -e $stage ] && continue
    echo "start $stage" >> "$CHECKPOINT_EVENTS"
    : > $stage
    echo "done $stage" >> "$CHECKPOINT_EVENTS"
done
"""


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda text: text, "passed"),
        (lambda text: text.replace("[ -e $stage ] && continue", ""), "failed"),
    ],
)
def test_stages_are_inferred_from_the_events(
    workplace: Workplace, change: Callable[[str], str], verdict: str
) -> None:
    session = workplace.judge_job(workplace.shell(change(STAGES)), "ls {workspace}")

    assert session.verdicts()[SKIPS_DONE] == verdict, session.output
