"""SIGTERM and SIGINT during a run: heeded in a stage's own code, never within a commit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, Pipeline, Preempted, StageState
from checkpoint_runtime.commits import Commits
from tests.runtime.support import RESULT, Ran, film, one, records_of

NONE = (StageState.PENDING, 0)


def attempts(workspace: Path, pipeline: Pipeline, stage: int) -> tuple[StageState, int]:
    found = pipeline.status(workspace).stages[stage]
    return found.state, found.attempts


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_sigterm_ends_the_run_and_does_not_count(tmp_path: Path) -> None:
    for _ in range(12):
        with pytest.raises(Preempted) as caught:
            film(render=terminate).run(tmp_path)
        assert caught.value.code == 75
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert records_of(tmp_path)[-1] == {"released": "render"}
    assert attempts(tmp_path, film(), 1) == NONE
    assert dict(film().run(tmp_path)) == RESULT


def test_a_sigterm_while_waiting_for_the_next_attempt_ends_the_run(tmp_path: Path) -> None:
    def work(context: Context) -> None:
        timer.start()
        raise RuntimeError

    timer = threading.Timer(0.05, terminate)
    with pytest.raises(Preempted):
        one(work, attempts=2, backoff_s=60.0).run(tmp_path)
    timer.join()
    assert attempts(tmp_path, one(work), 0) == (StageState.FAILED, 1)  # that one was made


def test_who_handles_sigterm_keeps_it(tmp_path: Path) -> None:
    def work(context: Context) -> str:
        terminate()
        return "done"

    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        mine = signal.getsignal(signal.SIGTERM)
        assert one(work).run(tmp_path / "a")["work"] == "done"
        assert signal.getsignal(signal.SIGTERM) is mine
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)

    def install(context: Context) -> str:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return work(context)

    try:
        assert one(install).run(tmp_path / "b")["work"] == "done"
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_run_in_another_thread_leaves_signals_alone(tmp_path: Path) -> None:
    found: list[object] = []

    def look(context: Context) -> None:
        found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=lambda: one(look).run(tmp_path))
    thread.start()
    thread.join(60)
    assert found == [signal.SIG_DFL]


def test_a_child_that_a_stage_forks_is_ended_by_sigterm_as_any_process_is(tmp_path: Path) -> None:
    def work(context: Context) -> int:
        ready, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(told, b"x")
            signal.pause()
            os._exit(0)
        os.read(ready, 1)
        os.kill(child, signal.SIGTERM)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert one(work).run(tmp_path)["work"] == -signal.SIGTERM


# --- in the middle of a commit ---

SIGNALS = pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGTERM, Preempted), (signal.SIGINT, KeyboardInterrupt)]
)


def sent_in_commit(number: signal.Signals, of: str) -> Callable[..., None]:
    """A commit of this stage during which the signal comes."""
    commit = Commits.stage

    def committing(self: Commits, stage: Any, value: object, took_s: float) -> None:
        if stage.name == of:
            os.kill(os.getpid(), number)
        commit(self, stage, value, took_s)

    return committing


@SIGNALS
def test_what_is_being_committed_is_committed_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    raised: type[BaseException],
) -> None:
    ran: Ran = []
    with monkeypatch.context() as patch:
        patch.setattr(Commits, "stage", sent_in_commit(number, "render"))
        with pytest.raises(raised):
            film(ran).run(tmp_path)
    assert ran == ["research", "render"]
    states = [stage.state for stage in film().status(tmp_path).stages]
    assert states == [StageState.DONE, StageState.DONE, StageState.PENDING]
    assert dict(film(ran).run(tmp_path)) == RESULT
    assert ran == ["research", "render", "assemble"]


@SIGNALS
def test_one_that_comes_with_the_last_commit_is_not_lost(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    raised: type[BaseException],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Commits, "stage", sent_in_commit(number, "assemble"))
        with pytest.raises(raised):
            film().run(tmp_path)
    assert film().status(tmp_path).finished
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_comes_while_a_failure_is_recorded_carries_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = Commits.failure

    def failing(self: Commits, *arguments: Any, **named: Any) -> None:
        terminate()
        failure(self, *arguments, **named)

    def fail() -> None:
        raise RuntimeError("out of paint")

    monkeypatch.setattr(Commits, "failure", failing)
    with pytest.raises(Preempted) as caught:
        film(render=fail).run(tmp_path)
    assert "out of paint" in str(caught.value.__context__)
    assert film().status(tmp_path).stages[1].state is StageState.FAILED


def test_a_second_one_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Commits.stage
    handlers: list[object] = []

    def committing(self: Commits, *arguments: Any) -> None:
        terminate()
        handlers.append(signal.getsignal(signal.SIGTERM))
        commit(self, *arguments)

    monkeypatch.setattr(Commits, "stage", committing)
    with pytest.raises(Preempted):
        film().run(tmp_path)
    assert handlers == [signal.SIG_DFL]


def test_a_pipeline_within_a_stage_commits_first_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Pipeline("inner")

    @inner.stage
    def within(context: Context) -> int:
        return 1

    @inner.stage
    def never(context: Context) -> int:
        raise AssertionError

    def work(context: Context) -> int:
        inner.run(tmp_path / "inner")
        raise AssertionError

    monkeypatch.setattr(Commits, "stage", sent_in_commit(signal.SIGTERM, "within"))
    with pytest.raises(Preempted):
        one(work).run(tmp_path / "outer")
    assert [stage.state for stage in inner.status(tmp_path / "inner").stages] == [
        StageState.DONE,
        StageState.PENDING,
    ]
    assert attempts(tmp_path / "outer", one(work), 0) == NONE
