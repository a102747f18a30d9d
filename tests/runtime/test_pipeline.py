"""What a user of the runtime sees: contexts, results, parameters, places, refusals."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    CommitError,
    Context,
    DefinitionError,
    ForeignStateError,
    Pipeline,
    Results,
    WorkspaceError,
)
from tests.runtime.disk import failing
from tests.runtime.support import RESULT, Ran, files_in, film


def test_a_later_stage_gets_what_an_earlier_one_returned(tmp_path: Path) -> None:
    ran: Ran = []
    results = film(ran).run(tmp_path)
    assert dict(results) == RESULT
    assert ran == ["research", "render", "assemble"]


@pytest.mark.parametrize("again", [Pipeline.run, Pipeline.resume])
def test_a_finished_pipeline_runs_nothing_again_and_changes_nothing(
    tmp_path: Path, again: Callable[[Pipeline, Path], Results]
) -> None:
    film().run(tmp_path)
    before = files_in(tmp_path)
    ran: Ran = []
    assert dict(again(film(ran), tmp_path)) == RESULT
    assert ran == []
    assert files_in(tmp_path) == before


def test_what_a_stage_does_to_a_value_no_other_stage_sees(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    seen: list[Any] = []

    @pipeline.stage
    def make(context: Context) -> list[int]:
        return [1]

    @pipeline.stage
    def spoil(context: Context) -> None:
        context["make"].append(2)
        assert context["make"] == [1, 2]

    @pipeline.stage(after=["make"])
    def look(context: Context) -> None:
        seen.append(context["make"])

    assert pipeline.run(tmp_path)["make"] == [1]
    assert seen == [[1]]


def test_a_stage_gets_its_inputs_and_a_word_on_how_to_get_others(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="one")(lambda context: 1)
    pipeline.stage(name="two")(lambda context: 2)

    @pipeline.stage
    def look(context: Context) -> list[str]:
        assert (list(context), len(context), "two" in context, "one" in context) == (
            ["two"], 1, True, False,
        )  # fmt: skip
        assert context.get("one") is None
        with pytest.raises(KeyError) as caught:
            context["one"]
        assert str(caught.value).startswith(
            "stage 'look' asked for 'one', which is not an input of it: name it, "
            "after=['two', 'one']. A stage is given"
        )
        return [context.stage, str(context.attempt), str(context.workspace), repr(context)]

    assert pipeline.run(tmp_path)["look"] == ["look", "1", str(tmp_path), "Context('two')"]


def test_results_know_only_what_is_done_and_load_only_what_is_asked_for(tmp_path: Path) -> None:
    loaded: list[str] = []
    results = Results(["one"], loaded.append)
    assert "one" in results
    assert loaded == []
    assert results["one"] is results["one"] is None
    assert loaded == ["one"]
    with pytest.raises(KeyError, match="'two' is not a stage that is done by now"):
        results["two"]
    assert dict(film().results(tmp_path)) == {}


def test_parameters_are_kept_for_a_resume(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="look")(lambda context: context.parameters)
    given = {"size": (640, 480), "name": "ä", "large": "x" * 20_000}
    assert pipeline.run(tmp_path / "a", parameters=given)["look"] == given
    assert pipeline.run(tmp_path / "b")["look"] == {}
    # Killed after the parameters were recorded.
    log = (tmp_path / "a" / "state.log").read_bytes().splitlines(keepends=True)
    (tmp_path / "a" / "state.log").write_bytes(b"".join(log[:2]))
    assert pipeline.resume(tmp_path / "a")["look"] == given


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"x": [object()]}, r"parameters\['x'\]\[0\] cannot be kept: it is of type object"),
        ({"x": "y" * 400_000}, "the parameters are too large for the state"),
    ],
)
def test_parameters_that_cannot_be_kept_are_refused_and_nothing_is_made(
    tmp_path: Path, parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DefinitionError, match=sentence):
        film().run(tmp_path / "w", parameters=parameters)
    assert not list(tmp_path.iterdir())


def test_another_pipeline_in_the_workspace_is_refused(tmp_path: Path) -> None:
    film().run(tmp_path)
    song = Pipeline("song")
    song.stage(print)
    for meet in (song.run, song.resume, song.results, song.status):
        with pytest.raises(ForeignStateError, match="of pipeline 'film', not of 'song'"):
            meet(tmp_path)


def test_without_stages_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="'film' has no stages: add some with @stage"):
        Pipeline("film").run(tmp_path)
    with pytest.raises(DefinitionError, match="'film' has no stage 'x'; it has 'research', "):
        film().run(tmp_path / "w", rerun_from="x")
    assert not (tmp_path / "w").exists()


def test_a_workspace_is_made_or_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(WorkspaceError, match="is not a directory and cannot be made: "):
            film().run(path)
    with pytest.raises(WorkspaceError, match="the workspace is an empty text"):
        film().run("")
    for look in (film().status, film().results, lambda path: film().rerun(path, "render")):
        with pytest.raises(WorkspaceError, match="is not a directory: nothing ran there"):
            look(tmp_path / "missing")
    assert dict(film().run(str(tmp_path / "a" / "b"))) == RESULT


def test_rerun_runs_a_stage_and_those_after_it(tmp_path: Path) -> None:
    film().run(tmp_path)
    ran: Ran = []
    assert dict(film(ran).rerun(tmp_path, "render")) == RESULT
    assert ran == ["render", "assemble"]


def test_progress_is_told_everything_and_can_end_the_run(tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []

    class Watcher:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *args: told.append((name, *args[:2]))

    pipeline = Pipeline("film")
    pipeline.stage(name="one")(lambda context: 1)
    pipeline.map(lambda context, item: item, [1, 2], name="two")
    watcher: Any = Watcher()
    pipeline.run(tmp_path, progress=watcher)
    assert [entry[:2] for entry in told] == [
        ("planned", 2), ("begun", "one"), ("done", "one"),
        ("begun", "two"), ("going_through", "two"), ("advanced", "two"), ("advanced", "two"),
        ("done", "two"), ("finished", 2),
    ]  # fmt: skip


# --- places ---


def test_a_stage_may_change_the_directory_and_the_workspace_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    pipeline = Pipeline("film")

    @pipeline.stage
    def move(context: Context) -> bytes:
        os.chdir(tmp_path / "elsewhere")
        (context.scratch / "file").touch()
        return b"x" * 300_000

    @pipeline.stage
    def look(context: Context) -> int:
        return len(context["move"])

    results = pipeline.run("w")
    assert dict(results) == {"move": b"x" * 300_000, "look": 300_000}
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "w"]
    assert not os.listdir(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    assert pipeline.resume("w")["look"] == 300_000


def test_a_workspace_may_be_a_link_and_a_dangling_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    film().run(tmp_path / "link")
    assert dict(film().results(tmp_path / "real")) == RESULT
    with pytest.raises(WorkspaceError, match="cannot be made: File exists"):
        film().run(tmp_path / "dangling")


def test_files_follow_the_umask(tmp_path: Path) -> None:
    program = """
import os, sys
from tests.runtime.support import film
os.umask(0o077)
film().run(sys.argv[1])
"""
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "w")],
        check=True, timeout=60, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*")}
    assert modes.pop("w") == modes.pop("heartbeats") == "0o700"
    assert set(modes.values()) == {"0o600"}


@pytest.mark.parametrize(
    ("number", "problem"),
    [(errno.EACCES, "Permission denied"), (errno.EROFS, "Read-only file sys")],
)
def test_a_workspace_that_may_not_be_written_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, problem: str
) -> None:
    open_ = os.open

    def refuse(path: Path, *args: Any) -> int:
        if Path(path).name == "state.log":
            failing(number)()
        return open_(path, *args)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CommitError) as caught:
        film().run(tmp_path)
    assert f"{tmp_path}/state.log: cannot open: {problem}" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("number", "error", "problem"),
    [
        (errno.EROFS, CommitError, "w: cannot make the workspace: Read-only file system. "),
        (errno.ENOSPC, CommitError, "w: cannot make the workspace: No space left on device: 0"),
        (errno.EIO, WorkspaceError, "w is not a directory and cannot be made: Input/output err"),
    ],
)
def test_a_workspace_that_cannot_be_made_is_refused_with_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[Exception],
    problem: str,
) -> None:
    monkeypatch.setattr(os, "mkdir", failing(number))
    with pytest.raises(error, match=problem):
        film().run(tmp_path / "w")


def test_a_workspace_that_may_not_be_looked_into_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film().run(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", failing(errno.EACCES))
        for look in (film().status, film().results, film().resume):
            with pytest.raises(WorkspaceError, match=r"state.log: cannot be opened or read: Permi"):
                look(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", failing(errno.EACCES))
        with pytest.raises(WorkspaceError, match="cannot be looked into: Permission denied"):
            film().resume(tmp_path)
    monkeypatch.setattr(Path, "is_dir", failing(errno.EACCES))
    with pytest.raises(WorkspaceError, match="cannot be looked into: Permission denied"):
        film().status(tmp_path)
