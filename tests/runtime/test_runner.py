"""Attempts and their budget, failures of every sort, what runs after one and what does not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from checkpoint_runtime import (
    Context,
    DamagedStateError,
    FailedBeforeError,
    Pipeline,
    PoisonedStageError,
    StageFailedError,
    StageState,
    StageValueError,
)
from checkpoint_runtime.runner import words_of
from tests.runtime.support import RESULT, Ran, fail, film, log_of, records_of


class Waits:
    """In place of real waits: how long each was to be."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def wait(self, timeout: float) -> bool:
        self.seconds.append(timeout)
        return False


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    found = Waits()
    monkeypatch.setattr(threading, "Event", lambda: found)
    return found


def one(work: Callable[[Context], Any], **given: Any) -> Pipeline:
    """A pipeline of one stage of interest, and one after it."""
    pipeline = Pipeline("film")
    pipeline.stage(name="work", **given)(work)
    pipeline.stage(name="after")(lambda context: "ran")
    return pipeline


def failing_times(times: int, tried: list[int]) -> Callable[[Context], str]:
    def work(context: Context) -> str:
        tried.append(context.attempt)
        if len(tried) <= times:
            raise RuntimeError(f"attempt {context.attempt}")
        return "done"

    return work


# --- exceptions ---


def test_nothing_after_a_failed_stage_runs_and_resume_tries_it_again(tmp_path: Path) -> None:
    ran: Ran = []
    with pytest.raises(StageFailedError) as caught:
        film(ran, render=fail).run(tmp_path)
    assert str(caught.value) == (
        "stage 'render' failed: RuntimeError: out of paint. Nothing after it ran; resume tries it "
        "again (1 of 10 attempts used)."
    )
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert (caught.value.stage, caught.value.tried, caught.value.attempts) == ("render", 1, 10)
    with pytest.raises(FailedBeforeError, match="'render' has failed: RuntimeError: out of paint"):
        film(ran).run(tmp_path)
    assert ran == ["research", "render"]
    assert dict(film(ran).resume(tmp_path)) == RESULT
    assert ran == ["research", "render", "render", "assemble"]


def test_a_stage_with_attempts_is_tried_again_in_the_same_run(tmp_path: Path, waits: Waits) -> None:
    tried: list[int] = []
    pipeline = one(failing_times(3, tried), attempts=5, backoff_s=20.0)
    assert dict(pipeline.run(tmp_path)) == {"work": "done", "after": "ran"}
    assert tried == [1, 2, 3, 4]
    assert waits.seconds == [20.0, 40.0, 60.0]
    assert pipeline.status(tmp_path).stages[0].attempts == 0


def test_the_budget_ends_it_and_only_rerun_clears_that(tmp_path: Path, waits: Waits) -> None:
    tried: list[int] = []
    pipeline = one(failing_times(3, tried), attempts=3)
    with pytest.raises(StageFailedError, match="its 3 attempts are used up: see to the cause"):
        pipeline.run(tmp_path)
    assert tried == [1, 2, 3]
    for _ in range(2):
        with pytest.raises(PoisonedStageError) as caught:
            pipeline.resume(tmp_path)
        assert str(caught.value) == (
            "stage 'work' was begun 3 times and never finished; the last error: RuntimeError: "
            "attempt 3. It is not tried again by itself. See to the cause, then clear it: "
            "checkpoint-runtime rerun … work, or pipeline.rerun(workspace, 'work')."
        )
    assert tried == [1, 2, 3]
    assert pipeline.status(tmp_path).stages[0].state is StageState.POISONED
    assert pipeline.rerun(tmp_path, "work")["after"] == "ran"
    assert tried == [1, 2, 3, 1]


def test_without_attempts_there_are_ten_in_all_one_in_each_run(tmp_path: Path) -> None:
    tried: list[int] = []
    pipeline = one(failing_times(99, tried))
    for _ in range(10):
        with pytest.raises(StageFailedError):
            pipeline.resume(tmp_path)
    with pytest.raises(PoisonedStageError):
        pipeline.resume(tmp_path)
    assert tried == list(range(1, 11))


def test_keep_going_runs_what_is_not_built_on_the_failed_stage(tmp_path: Path) -> None:
    def branches(ran: Ran, broken: bool) -> Pipeline:
        pipeline = Pipeline("film")

        def add(name: str, *after: str) -> None:
            def work(context: Context) -> str:
                ran.append(name)
                if broken and name in ("b", "d"):
                    raise RuntimeError(name)
                return name

            pipeline.stage(name=name, after=after)(work)

        for name, after in (("a", ""), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "a"), ("f", "ec")):
            add(name, *after)
        return pipeline

    ran: Ran = []
    with pytest.raises(StageFailedError, match="stage 'b' failed"):
        branches(ran, broken=True).run(tmp_path, keep_going=True)
    assert ran == ["a", "b", "d", "e"]
    status = branches(ran, broken=True).status(tmp_path)
    assert [stage.name for stage in status.stages if stage.state is StageState.FAILED] == ["b", "d"]
    handoff = (tmp_path / "handoff.md").read_text()
    assert "**`b` failed**" in handoff
    assert "**`d` failed**" in handoff
    assert "**Next:** `b`, `d`" in handoff
    ran.clear()
    branches(ran, broken=False).resume(tmp_path)
    assert ran == ["b", "c", "d", "f"]


def test_a_value_that_cannot_be_kept_fails_its_stage_with_the_place_and_the_type(
    tmp_path: Path,
) -> None:
    pipeline = one(lambda context: {"lock": [threading.Lock()]}, attempts=3)
    with pytest.raises(StageValueError) as caught:
        pipeline.run(tmp_path)
    assert str(caught.value) == (
        "stage 'work' returned a value that cannot be kept: value['lock'][0] is of type lock."
    )
    assert not pipeline.results(tmp_path)
    (stage, after) = pipeline.status(tmp_path).stages
    assert (stage.state, stage.error) == (StageState.FAILED, str(caught.value))
    assert after.state is StageState.PENDING
    with pytest.raises(FailedBeforeError):
        pipeline.run(tmp_path)


class Untellable(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError(), "RuntimeError"),
        (KeyError("x"), "KeyError: 'x'"),
        (ValueError("two\nlines  | `and` more"), "ValueError: two lines | `and` more"),
        (ValueError("\x1b[31mred\udc80\0"), r"ValueError: \x1b[31mred\udc80\x00"),
        (ValueError("x" * 5000), "ValueError: " + "x" * 2000 + "…"),
        (Untellable(), "Untellable: (its text cannot be had: ValueError)"),
    ],
)
def test_any_error_becomes_one_line_that_can_be_printed(
    tmp_path: Path, error: Exception, words: str
) -> None:
    def work(context: Context) -> NoReturn:
        raise error

    assert words_of(error) == words
    with pytest.raises(StageFailedError) as caught:
        one(work).run(tmp_path)
    assert caught.value.error == words
    assert one(work).status(tmp_path).stages[0].error == words


def test_a_stage_that_runs_another_pipeline_fails_as_any_other(tmp_path: Path) -> None:
    def outer(ran: Ran, **failing: Callable[[], object]) -> Pipeline:
        return one(lambda context: dict(film(ran, **failing).resume(context.workspace / "inner")))

    ran: Ran = []
    with pytest.raises(StageFailedError, match="'work' failed: StageFailedError: stage 'render' f"):
        outer(ran, render=fail).run(tmp_path)
    assert outer(ran).resume(tmp_path)["work"] == RESULT
    assert ran == ["research", "render", "render", "assemble"]


def test_an_input_that_is_damaged_is_the_states_fault_and_not_tried_again(
    tmp_path: Path, waits: Waits
) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="large")(lambda context: b"x" * 300_000)

    @pipeline.stage(attempts=5)
    def use(context: Context) -> int:
        (side_file,) = (tmp_path / "values").iterdir()
        side_file.write_bytes(b"y" * 300_000)
        return len(context["large"])

    with pytest.raises(DamagedStateError, match="the digest differs"):
        pipeline.run(tmp_path)
    assert waits.seconds == []
    assert pipeline.status(tmp_path).stages[1].state is StageState.BEGUN


# --- the end of the process ---


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
    with pytest.raises(StageFailedError, match="'work' failed: SystemExit"):
        one(lambda context: sys.exit(code)).run(tmp_path)


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
        {"format": 2, "pipeline": "film"},
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
