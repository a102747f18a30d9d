"""What is wrong with the usage or with the job is said in one sentence, with the right exit code.

Exit code 4: known before anything runs, and nothing is run. Exit code 1: the control run found it,
and every item of that subject is inconclusive with the sentence. Never a traceback.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from checkpoint_contracts import CATALOGUE
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.record import client, supervisor
from tests.acceptance.sessions import (
    NEVER_CORRUPT,
    PYTHON,
    RESUME_EQUALS,
    Session,
    Workplace,
    job,
)

pytest_plugins = ["pytester"]

SOUND = '[ -e a ] || { printf A > a.tmp && mv a.tmp a; }; echo ran >> "$OLDPWD/ran.log"'
"""Does its work, and says beside the workspace that it was run at all."""

CHECK = "cat {workspace}/a"

UNKNOWN_FAULT = (
    "--checkpoint-faults 'kill,typhoon': there is no fault 'typhoon'; there are: "
    f"{', '.join(Fault)}, separated by commas"
)


def usage(session: Session, workplace: Workplace) -> str:
    """The sentence of a session that ended before anything was run."""
    assert session.ret == 4, session.output
    assert "Traceback" not in session.output
    assert session.items == {}
    assert not (workplace.path / "ran.log").exists()
    assert not session.kept.exists()
    start = session.output.index("ERROR: ")
    return session.output[start:].removeprefix("ERROR: ").strip()


def about_the_job(session: Session) -> str:
    """The sentence that every item of the subject is inconclusive with."""
    assert session.ret == 1, session.output
    assert "Traceback" not in session.output
    assert set(session.verdicts()) == set(CATALOGUE)
    return session.inconclusive()


# --- known before anything runs ---


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "--checkpoint-time-budget=soon",
            "--checkpoint-time-budget 'soon' is no duration: write seconds above 0, as in 90 or 2m",
        ),
        (
            "--checkpoint-max-states=0",
            "--checkpoint-max-states '0' is not a whole number of 1 or more",
        ),
        (
            "--checkpoint-faults=kill,typhoon",
            UNKNOWN_FAULT,
        ),
        (
            "--checkpoint-keep=much",
            "--checkpoint-keep 'much' is no size: write bytes or a unit, as in 1GiB, 500MB or 0",
        ),
        (
            "--checkpoint-restart-ratio=2",
            "--checkpoint-restart-ratio '2' is no share of a run: write 0.9 or 90%, at most 1",
        ),
        (
            "--checkpoint-tolerate=failures",
            "--checkpoint-tolerate 'failures': only 'inconclusive' can be tolerated",
        ),
    ],
)
def test_an_unknown_value(workplace: Workplace, option: str, sentence: str) -> None:
    session = workplace.judge_job(workplace.shell(SOUND), CHECK, option)

    assert usage(session, workplace) == sentence


def test_an_unknown_capability(workplace: Workplace) -> None:
    session = workplace.judge_job(
        workplace.shell(SOUND), CHECK, "--checkpoint-capability", "time-travel"
    )

    assert usage(session, workplace).startswith(
        "subject 'job' (--checkpoint-run): unknown capability time-travel; there are: "
    )


def test_an_unknown_option(workplace: Workplace) -> None:
    session = workplace.judge_job(workplace.shell(SOUND), CHECK, "--checkpoint-fault=kill")

    assert session.ret == 4
    assert "unrecognized arguments: --checkpoint-fault=kill" in session.output


@pytest.mark.parametrize("part", ["run", "resume", "check", "setup"])
def test_a_command_that_does_not_exist(workplace: Workplace, part: str) -> None:
    parts = {"run": workplace.shell(SOUND), "check": CHECK, part: "no-such-program {workspace}"}
    words = [word for name, cmd in parts.items() for word in (f"--checkpoint-{name}", cmd)]
    name = "no-such-program" if part == "run" else "job"

    assert usage(workplace.judge(*words), workplace) == (
        f"subject '{name}' (--checkpoint-run): {part}: command not found: no-such-program (it is "
        "nowhere on PATH)"
    )


def test_a_file_that_cannot_be_executed(workplace: Workplace) -> None:
    script = workplace.write("job.sh", SOUND)

    session = workplace.judge_job(f"{shlex.quote(str(script))} {{workspace}}", CHECK)

    assert usage(session, workplace) == (
        f"subject 'job' (--checkpoint-run): run: {script} is not an executable file"
    )


def test_a_command_without_the_workspace(workplace: Workplace) -> None:
    run = workplace.shell(SOUND).replace("{workspace}", "somewhere")

    assert usage(workplace.judge_job(run, CHECK), workplace) == (
        "subject 'job' (--checkpoint-run): run has no {workspace}: write it where the command "
        "takes the directory that holds the job's state, as in 'python job.py {workspace}'; now "
        f"it is: {run}"
    )


def test_a_check_without_the_workspace(workplace: Workplace) -> None:
    session = workplace.judge_job(workplace.shell(SOUND), "echo fine")

    assert usage(session, workplace).startswith(
        "subject 'job' (--checkpoint-run): check has no {workspace}: write it where the command "
    )


def test_no_check(workplace: Workplace) -> None:
    session = workplace.judge("--checkpoint-run", workplace.shell(SOUND))

    assert usage(session, workplace) == (
        "--checkpoint-run needs --checkpoint-check CMD: a command that prints the job's result, "
        "as in 'cat {workspace}/result.json'; without it nothing can be judged"
    )


def test_quotes_that_do_not_match(workplace: Workplace) -> None:
    session = workplace.judge_job("sh 'job.sh {workspace}", CHECK)

    assert usage(session, workplace) == (
        "--checkpoint-run cannot be split into words (No closing quotation): sh 'job.sh {workspace}"
    )


def test_no_subject(workplace: Workplace) -> None:
    sentence = usage(workplace.judge(), workplace)

    assert sentence.startswith(
        "no subject found: nothing names a job to judge. Name one by its commands:"
    )
    assert "    @checkpoint_subject\n    def job():" in sentence


# --- found by the control run ---


def test_a_check_that_always_says_the_same(workplace: Workplace) -> None:
    check = workplace.shell("echo fine", "check.sh")

    assert about_the_job(workplace.judge_job(workplace.shell(SOUND), check)) == (
        "the check exits 0 and says the same on a workspace in which the job has not run, so it "
        "would pass anything; let it look at the result (fine)"
    )


def test_a_check_that_fails(workplace: Workplace) -> None:
    check = workplace.shell("echo no good >&2; exit 4", "check.sh")

    assert about_the_job(workplace.judge_job(workplace.shell(SOUND), check)) == (
        "the check exits 4 after an undisturbed run: it must accept the result of a run that "
        "nothing has gone wrong with; it printed:\n  no good"
    )


def test_a_check_that_never_ends(workplace: Workplace) -> None:
    check = workplace.shell("exec sleep 1000", "check.sh")

    session = workplace.judge_job(workplace.shell(SOUND), check, "--checkpoint-run-deadline", "0.5")

    assert about_the_job(session) == (
        "the check was still going after 0.5 s; raise --checkpoint-run-deadline if it needs that "
        "long (it printed nothing)"
    )


def test_a_job_that_fails(workplace: Workplace) -> None:
    run = workplace.shell("printf A > a; echo disk on fire; exit 7")

    assert about_the_job(workplace.judge_job(run, CHECK)) == (
        "the undisturbed run exits 7: the job must work before it can be crashed; it printed:\n"
        "  disk on fire"
    )


def test_a_job_that_fails_since_it_may_not_signal_others(workplace: Workplace) -> None:
    run = workplace.shell('echo x > a; kill -USR2 "$PPID" || exit 3')
    sentence = about_the_job(workplace.judge_job(run, CHECK))
    assert "the undisturbed run exits 3" in sentence
    assert "(it was not let send SIGUSR2 to " in sentence
    assert "which is not a process of its own)" in sentence


def test_effects_that_are_declared_and_never_sent(workplace: Workplace) -> None:
    run = workplace.shell('[ -e "$CHECKPOINT_EFFECTS_FILE" ] && echo x > a')
    session = workplace.judge_job(run, CHECK, "--checkpoint-capability=effects")
    assert "'effects' is declared, but the undisturbed run sent nothing" in about_the_job(session)


def test_a_job_that_dies_by_a_signal(workplace: Workplace) -> None:
    run = workplace.shell("printf A > a; kill -SEGV $$")

    assert about_the_job(workplace.judge_job(run, CHECK)) == (
        "the undisturbed run died by signal 11: the job must work before it can be crashed (it "
        "printed nothing)"
    )


def test_a_job_that_never_ends(workplace: Workplace) -> None:
    run = workplace.shell("printf A > a; echo waiting; exec sleep 1000")

    session = workplace.judge_job(run, CHECK, "--checkpoint-run-deadline", "2")

    assert about_the_job(session) == (
        "the undisturbed run was still going after 2 s: give it less to do (a thousand resumes "
        "will follow), or raise --checkpoint-run-deadline; it printed:\n  waiting"
    )


def test_a_job_that_differs_from_run_to_run(workplace: Workplace) -> None:
    counter = workplace.write("counter", "")
    run = workplace.shell(f"printf x >> {counter}; wc -c < {counter} > a")

    assert about_the_job(workplace.judge_job(run, CHECK)) == (
        "two undisturbed runs give different results, so nothing can be compared with them: let "
        "the check print only what does not depend on time, chance or order\n"
        "  first:  1\n  second: 2"
    )


def test_a_job_that_writes_nothing(workplace: Workplace) -> None:
    run = workplace.shell("ls > /dev/null")

    assert about_the_job(workplace.judge_job(run, "ls -a {workspace}")) == (
        "the undisturbed run did nothing under {workspace} (and TMPDIR): no file was created, "
        "written or renamed there; pass the workspace to the job, or read CHECKPOINT_WORKSPACE"
    )


def test_a_job_that_connects_to_the_network(workplace: Workplace) -> None:
    """198.51.100.1 is of a network that exists in documents only; the call is never carried out."""
    script = workplace.write(
        "job.py",
        "import socket, sys\n"
        "open(sys.argv[1] + '/a', 'w').write('A')\n"
        "socket.create_connection(('198.51.100.1', 443), timeout=60)\n",
    )

    session = workplace.judge_job(f"{PYTHON} {script} {{workspace}}", CHECK)

    assert about_the_job(session) == (
        "the job tried to connect to 198.51.100.1:443, which is not this machine: it was refused, "
        "because the job is run many times; serve what it needs on 127.0.0.1, or allow it with "
        "--checkpoint-allow-network"
    )


@pytest.mark.parametrize(
    ("command", "deed"),
    [
        ("printf new > {precious}", "truncate"),
        ("rm {precious}", "remove"),
        ("printf new > new; mv new {precious}", "rename over"),
    ],
)
def test_a_job_that_overwrites_a_file_outside(
    workplace: Workplace, command: str, deed: str
) -> None:
    precious = workplace.write("precious", "the user's")
    run = workplace.shell("printf A > a; " + command.format(precious=precious))

    session = workplace.judge_job(run, CHECK)

    assert about_the_job(session) == (
        f"the job tried to {deed} {precious}, which existed before and lies outside the "
        "workspace: it was refused, because the job is run many times; keep such files in "
        "{workspace} or TMPDIR, or allow it with --checkpoint-allow-outside PATH"
    )
    assert precious.read_text() == "the user's"


def test_a_setup_that_fails(workplace: Workplace) -> None:
    setup = workplace.shell("echo no data; exit 5", "setup.sh")

    session = workplace.judge_job(workplace.shell(SOUND), CHECK, "--checkpoint-setup", setup)

    assert about_the_job(session) == (
        "the setup command exits 5; mend it first; it printed:\n  no data"
    )


def test_stages_that_are_declared_and_never_seen(workplace: Workplace) -> None:
    session = workplace.judge_job(
        workplace.shell(SOUND), CHECK, "--checkpoint-capability", "stages"
    )

    assert about_the_job(session) == (
        "the capability 'stages' is declared, but the undisturbed run wrote no name with both a "
        "'start' and a 'done' line to $CHECKPOINT_EVENTS"
    )


def test_a_name_that_starts_again_after_its_done(workplace: Workplace) -> None:
    run = workplace.shell(
        """
printf A > a
for round in 1 2; do printf 'start epoch\\n' >> "$CHECKPOINT_EVENTS"
    printf 'done epoch\\n' >> "$CHECKPOINT_EVENTS"; done
"""
    )

    assert about_the_job(workplace.judge_job(run, CHECK)) == (
        "'start epoch' comes again after 'done epoch' within one undisturbed run: a name that "
        "starts again is not a stage; give each round a name of its own"
    )


def test_a_job_whose_finished_form_cannot_be_resumed(workplace: Workplace) -> None:
    run = workplace.shell("[ -e a ] && { echo there already; exit 6; }; printf A > a")

    assert about_the_job(workplace.judge_job(run, CHECK)) == (
        "the resume of the finished job exits 6: a job that has ended must be found finished; it "
        "printed:\n  there already"
    )


def test_a_process_that_outlives_the_job(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon is ended with everything else that the job has started."""
    assert supervisor.SURVIVOR_GRACE_S == 10.0
    shorter = "from pytest_checkpoint.record import supervisor; supervisor.SURVIVOR_GRACE_S = 1.0; "
    monkeypatch.setattr(client, "_SERVER", client._SERVER.replace("from ", shorter + "from ", 1))
    run = workplace.shell("printf A > a; setsid sleep 1000 < /dev/null > /dev/null 2>&1 &")

    sentence = about_the_job(workplace.judge_job(run, CHECK))

    assert sentence.startswith(
        "1 process(es) of the job were still running 1 s after it had exited: "
    )
    assert sentence.endswith(" (sleep 1000); end or wait for them in the job")
    process = int(
        sentence.removesuffix(" (sleep 1000); end or wait for them in the job").split()[-1]
    )
    assert not Path(f"/proc/{process}").exists()


def test_the_other_subjects_go_on(workplace: Workplace) -> None:
    good, bad = workplace.shell(SOUND, "good.sh"), workplace.shell("exit 3", "bad.sh")
    workplace.write(
        "test_jobs.py",
        f"""
from pytest_checkpoint.api import CommandSubject, checkpoint_subject

@checkpoint_subject
def bad():
    return CommandSubject(run={bad!r}, check={CHECK!r})

@checkpoint_subject
def good():
    return CommandSubject(run={good!r}, check={CHECK!r})
""",
    )

    session = workplace.judge()

    assert session.ret == 1
    assert session.inconclusive("bad").startswith("the undisturbed run exits 3: ")
    assert session.verdicts("good")[RESUME_EQUALS] == "passed"


def test_what_the_job_printed_is_shown_once(workplace: Workplace) -> None:
    run = workplace.shell("echo no config; exit 3")

    session = workplace.judge_job(run, CHECK)

    sentence = (
        "inconclusive: the undisturbed run exits 3: the job must work before it can be crashed; "
        "it printed:"
    )
    first, *others = (item.text for item in session.items.values())
    assert first == f"{sentence}\n  no config"
    assert set(others) == {f"{sentence} (in full: job::{RESUME_EQUALS})"}


# --- found by an experiment ---


def test_what_only_a_resume_is_refused(workplace: Workplace) -> None:
    """That experiment is inconclusive, and so is every contract that needed it."""
    precious = workplace.write("precious", "the user's")
    run = workplace.shell(
        f"[ -e a.tmp ] && rm {precious}\n[ -e a ] || {{ printf A > a.tmp; mv a.tmp a; }}"
    )

    session = workplace.judge_job(run, CHECK)

    assert session.ret == 1
    assert session.verdicts()[RESUME_EQUALS] == "inconclusive"
    assert session.item(RESUME_EQUALS).text.startswith(
        f"inconclusive: the job tried to remove {precious}, which existed before and lies outside "
        "the workspace: it was refused, because the job is run many times; keep such files in "
        "{workspace} or TMPDIR, or allow it with --checkpoint-allow-outside PATH"
    )
    assert session.failed() == set()
    assert precious.read_text() == "the user's"


def test_one_confirmed_failure_outweighs_a_refusal(workplace: Workplace) -> None:
    precious = workplace.write("precious", "the user's")
    run = workplace.shell(
        f"""
[ -e started ] && [ ! -e a ] && [ ! -e a.tmp ] && exit 3
[ -e a.tmp ] && rm {precious}
[ -e a ] || {{ : > started; printf A > a.tmp; mv a.tmp a; }}
"""
    )

    session = workplace.judge_job(run, CHECK)

    assert session.failed() == {RESUME_EQUALS, NEVER_CORRUPT}
    text = " ".join(session.item(RESUME_EQUALS).text.split())
    assert f"note: the job tried to remove {precious}, which existed before" in text


def test_what_is_undecided_can_be_tolerated_and_is_never_passed(workplace: Workplace) -> None:
    session = workplace.judge(
        *job(workplace.shell("exit 7"), CHECK), "--checkpoint-tolerate", "inconclusive"
    )

    assert session.ret == 0, session.output
    assert session.inconclusive().startswith("the undisturbed run exits 7: ")
    assert f" {len(CATALOGUE)} skipped in " in session.output


def test_a_place_to_keep_things_that_cannot_be_made(workplace: Workplace) -> None:
    mine = workplace.write(".checkpoint-contracts", "mine")

    session = workplace.judge_job(workplace.shell(SOUND), CHECK)

    assert session.ret == 4
    assert "recordings and wrecks cannot be kept in " in session.output
    assert "Traceback" not in session.output
    assert "first control run" not in session.output
    assert mine.read_text() == "mine"
