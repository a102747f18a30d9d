"""Pipelines that beat: what their heartbeat says at which moment, and what it must not change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, DefinitionError, Pipeline, Preempted, StageFailedError
from checkpoint_runtime.commits import Commits
from checkpoint_runtime.liveness import Beat, BeatState, WorkerState, beater
from checkpoint_runtime.liveness.heartbeat_file import read_beat
from checkpoint_runtime.progress import Silent
from tests.runtime.disk import Crash
from tests.runtime.support import RESULT, fail, files_in, film, one


def beat_in(workspace: Path) -> Beat:
    found = read_beat(workspace, "main")
    assert isinstance(found, Beat)
    return found


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is written into heartbeats by this process, one after another."""
    written: list[bytes] = []
    replace = beater.replace

    def noted(path: str, content: bytes) -> None:
        written.append(content)
        replace(path, content)

    monkeypatch.setattr(beater, "replace", noted)
    return written


def test_a_run_shorter_than_the_interval_has_two_beats(tmp_path: Path, beats: list[bytes]) -> None:
    assert dict(film().run(tmp_path)) == RESULT
    assert len(beats) == 2
    assert b'"beat": 1,' in beats[0]
    assert b'"stage": "research"' in beats[0]
    beat = beat_in(tmp_path)
    assert (beat.number, beat.state, beat.progress) == (2, BeatState.FINISHED, 3)
    assert os.listdir(tmp_path / "heartbeats") == ["main.json"]


def test_a_run_that_finds_nothing_to_do_changes_nothing(tmp_path: Path) -> None:
    film().run(tmp_path)
    before = files_in(tmp_path)
    film().resume(tmp_path)
    assert files_in(tmp_path) == before


def test_items_and_what_a_stage_says_itself_are_progress(
    tmp_path: Path, beats: list[bytes]
) -> None:
    def work(context: Context, item: int) -> int:
        context.advance(100, total=1000)
        return item

    def last(context: Context) -> None:
        context.advance(2, total=9)
        context.advance()
        raise RuntimeError

    pipeline = Pipeline("film")
    pipeline.map(work, [0, 1, 2], name="m")
    pipeline.stage(name="last")(last)
    with pytest.raises(StageFailedError):
        pipeline.run(tmp_path)
    beat = beat_in(tmp_path)
    assert beat.progress == 3 * 101 + 1 + 3
    assert (beat.stage, beat.done, beat.total) == ("last", 3, 9)
    assert beat.state is BeatState.FAILED


def test_of_a_mapped_stage_the_items_are_counted(tmp_path: Path) -> None:
    def work(context: Context, item: int) -> int:
        context.advance(100, total=1000)
        return 1 // item

    pipeline = Pipeline("film")
    pipeline.map(work, [1, 2, 0, 4], name="m")
    with pytest.raises(StageFailedError):
        pipeline.run(tmp_path)
    assert (beat_in(tmp_path).done, beat_in(tmp_path).total) == (2, 4)


def preempt() -> None:
    raise Preempted


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        (fail, BeatState.FAILED),
        (preempt, BeatState.PREEMPTED),
        (interrupt, BeatState.PREEMPTED),
    ],
)
def test_the_last_beat_says_how_it_ended(
    tmp_path: Path, ends: Callable[[], None], state: BeatState
) -> None:
    with pytest.raises(BaseException):  # noqa: B017 - each raises its own
        film(render=ends).run(tmp_path)
    assert beat_in(tmp_path).state is state
    assert film().status(tmp_path).workers[0].state is WorkerState(state.value)


def test_a_resume_that_finds_all_done_says_so_for_who_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the last commit and the last beat."""
    commit = Commits.stage

    def dying(self: Commits, stage: Any, value: object, took_s: float) -> None:
        commit(self, stage, value, took_s)
        if stage.name == "assemble":
            patch.setattr(beater, "replace", nothing)
            raise Crash

    def nothing(*_: object) -> None:
        return

    with monkeypatch.context() as patch:
        patch.setattr(Commits, "stage", dying)
        with pytest.raises(Crash):
            film().run(tmp_path)
    assert beat_in(tmp_path).state is BeatState.RUNNING
    film().resume(tmp_path)
    assert beat_in(tmp_path).state is BeatState.FINISHED


def test_without_a_heartbeat_none_is_left_of_an_earlier_run(tmp_path: Path) -> None:
    with pytest.raises(StageFailedError):
        film(render=fail).run(tmp_path)
    film().resume(tmp_path, heartbeat_s=None)
    assert os.listdir(tmp_path / "heartbeats") == []
    film().rerun(tmp_path, "render", heartbeat_s=0)
    assert os.listdir(tmp_path / "heartbeats") == []


def test_a_heartbeat_that_cannot_be_written_is_told_once_and_the_job_goes_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "heartbeats").write_text("mine")
    notes: list[str] = []

    class Told(Silent):
        def note(self, text: str) -> None:
            notes.append(text)

    assert dict(film().run(tmp_path, progress=Told())) == RESULT
    assert notes == [
        f"there is no heartbeat in {tmp_path / 'heartbeats'}: File exists. The job goes on."
    ]


def test_an_interval_that_is_none_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="an interval of"):
        film().run(tmp_path, heartbeat_s=-1)
    assert not list(tmp_path.iterdir())


def test_a_status_tells_what_runs_from_what_died(tmp_path: Path) -> None:
    def look(context: Context) -> str:
        (worker,) = one(look).status(tmp_path).workers
        assert (worker.state, worker.pid) == (WorkerState.RUNNING, os.getpid())
        assert (worker.stage, worker.why) == ("work", "its process is there")
        return "seen"

    assert one(look).run(tmp_path)["work"] == "seen"
    path = tmp_path / "heartbeats" / "main.json"
    content = path.read_text().replace(f'"pid": {os.getpid()}', '"pid": 4194305')
    path.write_text(content.replace("finished", "running"))
    (worker,) = one(look).status(tmp_path).workers
    assert (worker.state, worker.why) == (WorkerState.DEAD, "its process is gone")
    path.write_text("garbage")
    (worker,) = one(look).status(tmp_path).workers
    assert (worker.state, worker.why) == (WorkerState.UNKNOWN, f"{path} holds no heartbeat")
