"""``checkpoint-runtime watch``: what it says, does, and exits with."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.incidents import Incidents
from checkpoint_runtime.command.main import main
from checkpoint_runtime.command.parser import parsed
from checkpoint_runtime.command.watch_options import watch_options
from checkpoint_runtime.liveness import (
    BeatState,
    Heartbeat,
    Liveness,
    Presence,
    Reading,
    Watcher,
    beater,
)
from tests.runtime.liveness.workers import Worker, started_worker, until

PROGRAM = [sys.executable, "-m", "checkpoint_runtime.command.main", "watch"]
BOUND = ["--stale-after", "0.4"]


class Said:
    """What one command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def watch(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Said:
        try:
            code = main(["watch", *map(str, arguments)])
        except SystemExit as ended:  # argparse
            code = int(str(ended.code))
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return run


def watch_as_process(*arguments: str) -> Said:
    """One that starts others has to be a process of its own: their orphans come to it."""
    done = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def ended(workspace: Path, state: BeatState = BeatState.FINISHED, worker: str = "main") -> None:
    heartbeat = Heartbeat(workspace, worker, interval_s=60)
    heartbeat.begin("load")
    heartbeat.end(state)


def test_once_says_a_word(watch: Any, worker: Worker) -> None:
    alive = watch(worker.workspace, "--once", *BOUND)
    assert (alive.out, alive.err, alive.code) == ("alive\n", "", 0)
    stalled = watch(worker.workspace, "--once", *BOUND, "--stalled-after", "0.3")
    assert (stalled.out, stalled.code) == ("stalled\n", ExitCode.STALLED)
    worker.stop()
    stale = watch(worker.workspace, "--once", *BOUND)
    assert (stale.out, stale.code) == ("stale\n", ExitCode.STALE)
    os.kill(worker.pid, signal.SIGCONT)
    os.kill(worker.pid, signal.SIGUSR1)
    worker.process.wait(30)
    finished = watch(worker.workspace, "--once", *BOUND)
    assert (finished.out, finished.code) == ("finished\n", 0)


def test_once_says_at_once_that_a_worker_was_killed(watch: Any, worker: Worker) -> None:
    worker.process.kill()
    worker.process.wait(30)
    killed = watch(worker.workspace, "--once", "--json")  # the bound is 30 s
    assert killed.code == ExitCode.STALE
    said = json.loads(killed.out)
    assert (said["state"], said["why"]) == ("stale", "its process is gone")
    assert (said["worker"], said["pid"], said["stage"]) == ("main", worker.pid, "work")
    assert (said["done"], said["total"], said["progress"]) == (0, 7, 0)


def test_where_nobody_has_beaten_it_is_waited(watch: Any, tmp_path: Path) -> None:
    waiting = watch(tmp_path / "not there", "--once", *BOUND)
    assert (waiting.out, waiting.code) == ("waiting\n", ExitCode.WAITING)


def test_several_workers_have_a_line_each_and_the_worst_counts(watch: Any, tmp_path: Path) -> None:
    ended(tmp_path, worker="b")
    ended(tmp_path, BeatState.FAILED, worker="a")
    said = watch(tmp_path, "--once")
    assert said.out == f"failed {tmp_path} a\nfinished {tmp_path} b\n"
    assert said.code == ExitCode.STAGE_FAILED
    ended(tmp_path, BeatState.PREEMPTED, worker="a")
    assert watch(tmp_path).code == ExitCode.PREEMPTED
    ended(tmp_path, worker="a")
    lines = watch(tmp_path)
    assert lines.code == ExitCode.DONE
    assert lines.out.splitlines()[0] == f"{tmp_path} a: finished: it said so: finished (load)"


def test_it_watches_until_the_end_and_runs_a_command_once(watch: Any, worker: Worker) -> None:
    told = worker.workspace / "told"
    command = f"sh -c 'echo \"$0\" >> {told}; kill -CONT {worker.pid}; kill -USR1 {worker.pid}'"
    worker.stop()
    watched = watch(worker.workspace, *BOUND, "--on-stale", f"{command} '{{worker}} {{state}}; x'")
    assert watched.code == ExitCode.DONE
    assert told.read_text() == "main stale; x\n"
    states = [line.split(": ")[1] for line in watched.out.splitlines()]
    assert (states[:2], states[-1]) == (["waiting", "stale"], "finished")


def test_a_command_is_run_once_for_each_incident(tmp_path: Path) -> None:
    told = tmp_path / "told"
    given = parsed(["watch", str(tmp_path), "--on-stale", f"sh -c 'echo {{state}} >> {told}'"])
    incidents = Incidents(watch_options(given), Watcher(), print)
    (judged,) = Watcher().observe([Reading(tmp_path, "main", None, None, Presence.UNKNOWN)], 0.0)
    for liveness in (
        Liveness.STALE, Liveness.STALE, Liveness.ALIVE, Liveness.STALE, Liveness.STALE,
    ):  # fmt: skip
        incidents.see_to([replace(judged, liveness=liveness)])
    incidents.close()
    assert told.read_text() == "stale\nstale\n"


def test_without_a_command_it_ends_with_an_incident(watch: Any, worker: Worker) -> None:
    worker.process.kill()
    worker.process.wait(30)
    watched = watch(worker.workspace, "--json")
    assert watched.code == ExitCode.STALE
    assert [json.loads(line)["state"] for line in watched.out.splitlines()] == ["stale"]


def test_a_job_that_is_stopped_is_ended_and_resumed(worker: Worker) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    code = (
        "from sys import argv; from checkpoint_runtime.liveness import Heartbeat; "
        "Heartbeat(argv[1]).__enter__().__exit__(None, None, None)"
    )
    try:
        worker.stop()
        watched = watch_as_process(
            str(worker.workspace), *BOUND, "--restarts", "1", "--restart", "--",
            sys.executable, "-c", code, "{workspace}",
        )  # fmt: skip
        assert bystander.poll() is None
    finally:
        bystander.communicate(b"\n")
    assert watched.code == ExitCode.DONE
    assert worker.process.wait(30) == -signal.SIGTERM
    assert "it is started again (0 restarts left)" in watched.err
    assert worker.beat.state is BeatState.FINISHED


def test_a_job_that_finishes_when_it_is_told_to_end_is_finished(tmp_path: Path) -> None:
    """The resume of a finished job has nothing to do, and does not beat."""
    with started_worker(tmp_path, ends_at=signal.SIGTERM) as worker:
        worker.stop()
        watched = watch_as_process(
            str(tmp_path), *BOUND, "--restarts", "1", "--restart", "--", "true"
        )
        assert worker.process.wait(30) == 0
    assert watched.code == ExitCode.DONE
    assert "it is started again (0 restarts left)" in watched.err


def test_a_job_that_died_before_its_first_beat_is_started(tmp_path: Path) -> None:
    watched = watch_as_process(
        str(tmp_path), *BOUND, "--start-within", "0.1", "--restart", "--", "true"
    )
    assert watched.code == ExitCode.DONE
    assert "main was stale (nobody has beaten within" in watched.err


def test_restarts_are_a_budget(worker: Worker) -> None:
    worker.process.kill()
    worker.process.wait(30)
    count = worker.workspace / "count"
    watched = watch_as_process(
        str(worker.workspace), *BOUND, "--restarts", "2", "--backoff", "0.01",
        "--restart", "--", "sh", "-c", f"echo x >> {count}; exit 3",
    )  # fmt: skip
    assert watched.code == ExitCode.RESTARTS_USED_UP
    assert count.read_text() == "x\nx\n"
    assert "what was started again ended with code 3, without a beat" in watched.out
    assert watched.err.endswith("checkpoint-runtime: there are no more restarts.\n")


@pytest.mark.parametrize("change", ["start_ticks", "pid_namespace", "boot_id"])
def test_a_process_that_is_not_the_workers_is_left_alone(
    worker: Worker, tmp_path: Path, change: str
) -> None:
    """Its number is another one's now, or it runs elsewhere: what has the number here lives."""
    fields = json.loads((worker.workspace / "heartbeats" / "main.json").read_bytes())
    fields[change] = 7 if change == "start_ticks" else "another"
    fields["host"] = "another"
    other = tmp_path / "other" / "heartbeats"
    other.mkdir(parents=True)
    beater.replace(str(other / "main.json"), json.dumps(fields).encode())
    watched = watch_as_process(
        str(other.parent), *BOUND, "--restarts", "1", "--restart", "--", "sh", "-c", "exit 3"
    )
    if change == "start_ticks":
        assert "its number is another one's now" in watched.out
        assert watched.code == ExitCode.RESTARTS_USED_UP
    else:
        assert "it runs on another, in a place whose processes cannot be seen from" in watched.err
        assert watched.code == ExitCode.STALE
    worker.beats_again()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--restart"], "--restart needs the command that resumes the job"),
        (["--", "x"], "only --restart takes a command"),
        (["--once", "--restart", "--", "x"], "--once only says what it sees"),
        (["w2", "--restart", "--", "x"], "has to say {workspace}"),
        (["--on-stale", "'"], "cannot be split"),
        (["--on-stale", ""], "--on-stale is empty"),
        (["--stale-after", "0"], "stale_after_s=0.0 is no time"),
        (["--stalled-after", "-1"], "stalled_after_s=-1.0 is no time"),
        (["--restarts", "0"], "--restarts 0 is no number from 1 on"),
        (["--backoff", "-1"], "--backoff -1.0 is no time"),
        (["--restart-grace", "nan"], "--restart-grace nan is no time"),
    ],
)
def test_options_that_are_none_get_a_sentence(
    watch: Any, arguments: list[str], sentence: str
) -> None:
    said = watch("w", *arguments)
    assert said.code == ExitCode.USAGE
    assert sentence in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_ended(worker: Worker, number: signal.Signals) -> None:
    with subprocess.Popen(
        [*PROGRAM, str(worker.workspace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watched:
        try:
            assert watched.stdout is not None
            assert ": alive: " in watched.stdout.readline()
            watched.send_signal(number)
            assert watched.communicate(timeout=30)[1] == ""
            assert watched.returncode == ExitCode.INTERRUPTED
        finally:
            watched.kill()
    worker.beats_again()


def test_on_a_terminal_it_is_a_table(worker: Worker) -> None:
    pytest.importorskip("rich")
    ours, its = pty.openpty()
    shown = b""
    with subprocess.Popen(
        [*PROGRAM, str(worker.workspace), *BOUND],
        stdin=subprocess.DEVNULL, stdout=its, stderr=its,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "250"},
    ) as watched:  # fmt: skip
        os.close(its)
        try:
            while b"alive" not in shown:
                shown += os.read(ours, 65536)
            os.kill(worker.pid, signal.SIGUSR1)
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # EIO: the other side has gone
            shown += b""
        finally:
            os.close(ours)
        assert watched.wait(30) == 0
    for text in (b"progress", b"work", b"0 of 7", b"finished"):
        assert text in shown


def test_nobody_needs_to_read_what_it_says(worker: Worker) -> None:
    with subprocess.Popen([*PROGRAM, str(worker.workspace)], stdout=subprocess.PIPE) as watched:
        try:
            assert watched.stdout is not None
            watched.stdout.close()
            until(lambda: watched.poll() is None)
            os.kill(worker.pid, signal.SIGUSR1)
            assert watched.wait(30) == 0
        finally:
            watched.kill()


def test_every_command_of_the_guide_is_understood() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "liveness.md").read_text()
    commands = re.findall(r"^checkpoint-runtime (watch .*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        watch_options(parsed(shlex.split(command)))
    for code in (ExitCode.STALE, ExitCode.STALLED, ExitCode.WAITING, ExitCode.INTERRUPTED):
        assert re.search(rf"^\| .*\b{code.value}\b.* \|", guide, re.MULTILINE), code
