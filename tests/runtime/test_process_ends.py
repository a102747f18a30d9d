"""The end of a process within a stage: interrupts, exits, deaths, children that it forked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from checkpoint_runtime import (
    Context,
    Pipeline,
    StageFailedError,
    StageState,
)
from tests.runtime.conftest import Waits
from tests.runtime.support import RESULT, Ran, failing_times, film, log_of, one, records_of


def test_an_interrupt_does_not_count(tmp_path: Path) -> None:
    def interrupt() -> NoReturn:
        raise KeyboardInterrupt

    for _ in range(12):
        with pytest.raises(KeyboardInterrupt):
            film(render=interrupt).run(tmp_path)
    assert records_of(tmp_path)[-1] == {"released": "render"}
    assert film().status(tmp_path).stages[1].state is StageState.PENDING
    assert dict(film().run(tmp_path)) == RESULT


def test_an_interrupt_while_a_value_is_kept_does_not_count_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("checkpoint_runtime.commits.encoded_value", interrupt)
        with pytest.raises(KeyboardInterrupt):
            film().run(tmp_path)
    assert film().status(tmp_path).stages[0].attempts == 0


def test_an_interrupt_after_a_commit_does_not_count_for_the_next_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("checkpoint_runtime.events.EventFile.done", interrupt)
        with pytest.raises(KeyboardInterrupt):
            film().run(tmp_path)
    first, second, _ = film().status(tmp_path).stages
    assert (first.state, second.state, second.attempts) == (StageState.DONE, StageState.PENDING, 0)
    ran: Ran = []
    film(ran).run(tmp_path)
    assert ran == ["render", "assemble"]


def test_an_exit_with_a_code_goes_on_its_way_and_is_recorded(tmp_path: Path, waits: Waits) -> None:
    pipeline = one(lambda context: sys.exit(143), attempts=5)
    with pytest.raises(SystemExit) as caught:
        pipeline.run(tmp_path)
    assert caught.value.code == 143
    assert waits.seconds == []
    assert pipeline.status(tmp_path).stages[0].error == "SystemExit: 143"


@pytest.mark.parametrize("code", [None, 0])
def test_an_exit_that_would_look_like_success_is_a_failure(
    tmp_path: Path, code: int | None
) -> None:
    pipeline = one(lambda context: sys.exit(code), attempts=5)
    with pytest.raises(StageFailedError, match="'work' failed: SystemExit"):
        pipeline.run(tmp_path)
    assert pipeline.status(tmp_path).stages[0].attempts == 1


DYING = """
import os, sys
from checkpoint_runtime import Pipeline
film = Pipeline("film")
@film.stage
def first(context):
    return 1
@film.stage(attempts=2)
def deadly(context):
    os.write(1, b"%d " % context.attempt)
    os._exit(9)
film.resume(sys.argv[1])
"""


def test_deaths_count_and_poison_a_stage(tmp_path: Path) -> None:
    def start() -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", DYING, str(tmp_path)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    assert start()[:2] == (9, "1 ")
    assert start()[:2] == (9, "2 ")
    code, output, errors = start()
    assert (code, output) == (1, "")
    assert "'deadly' was begun 2 times and never finished; it never raised: the process" in errors


def test_a_death_between_a_commit_and_the_last_attempt_does_not_use_that_up(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="first")(lambda context: 1)
    pipeline.stage(name="once", attempts=1)(lambda context: 2)
    pipeline.run(tmp_path)
    log = (tmp_path / "state.log").read_bytes()
    lines = log.splitlines(keepends=True)
    # As a kill leaves it that strikes after the commit of the first.
    (tmp_path / "state.log").write_bytes(b"".join(lines[:3]))
    assert records_of(tmp_path)[-1]["done"] == "first"
    assert pipeline.resume(tmp_path)["once"] == 2


def test_deaths_and_failures_share_a_budget(tmp_path: Path, waits: Waits) -> None:
    died: list[dict[str, Any]] = [
        {"format": 4, "pipeline": "film"},
        {"attempt": "work"},
        {"attempt": "work"},
    ]
    (tmp_path / "state.log").write_bytes(log_of(died))
    tried: list[int] = []
    with pytest.raises(StageFailedError, match="its 4 attempts are used up"):
        one(failing_times(9, tried), attempts=4, backoff_s=1.0).resume(tmp_path)
    assert tried == [3, 4]
    assert waits.seconds == [4.0]


# --- other processes ---


FORKING = """
import multiprocessing, os, signal, sys
from checkpoint_runtime import Pipeline

def fail():
    raise RuntimeError

def squared(number):
    return number * number

def code_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

film = Pipeline("film")

@film.stage
def forks(context):
    codes = []
    for ending in (fail, lambda: sys.exit(3), lambda: signal.raise_signal(signal.SIGINT)):
        child = os.fork()
        if child == 0:
            ending()
        codes.append(code_of(child))
    child = os.fork()
    if child == 0:
        return "the child came back"
    return [*codes, code_of(child)]

@film.stage
def pool(context):
    with multiprocessing.get_context("fork").Pool(2) as workers:
        return workers.map(squared, [1, 2, 3])

try:
    print(dict(film.run(sys.argv[1])))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_children_that_a_stage_forks_record_nothing(tmp_path: Path) -> None:
    """Whether they raise, exit, are interrupted or just return: the log stays their parent's."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == "{'forks': [1, 3, 130, 1], 'pool': [1, 4, 9]}\n", done.stderr
    assert "a child process came back from stage 'forks': after os.fork() the child" in done.stderr
    kinds = [next(iter(record)) for record in records_of(tmp_path)]
    assert kinds == ["format", "attempt", "done", "done"]


def test_no_descriptor_is_inherited_by_what_a_stage_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(tmp_path / "events"))

    def work(context: Context) -> str:
        listing = subprocess.run(
            ["ls", "-l", "/proc/self/fd"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60,
            close_fds=False,
        )  # fmt: skip
        return listing.stdout

    assert str(tmp_path) not in one(work).run(tmp_path / "w")["work"]
