"""What a user of the runtime sees: stages, contexts, refusals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    Context,
    DefinitionError,
    ForeignStateError,
    Pipeline,
    StageValueError,
    WorkspaceError,
)


@pytest.fixture(autouse=True)
def no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHECKPOINT_EVENTS", raising=False)


def numbers(ran: list[str], *, fail_in: str | None = None) -> Pipeline:
    """Three stages: 1, 2, and the sum of what the context says of them."""
    pipeline = Pipeline("numbers")

    def enter(stage: str) -> None:
        ran.append(stage)
        if stage == fail_in:
            raise RuntimeError(f"{stage} fails")

    @pipeline.stage
    def one(context: Context) -> int:
        enter("one")
        return 1

    @pipeline.stage()
    def two(context: Context) -> dict[str, int]:
        enter("two")
        return {"number": context["one"] + 1}

    @pipeline.stage(name="the sum")
    def total(context: Context) -> int:
        enter("the sum")
        return int(context["one"] + context["two"]["number"])

    return pipeline


def test_stages_run_in_order_and_see_what_the_earlier_ones_returned(tmp_path: Path) -> None:
    ran: list[str] = []
    results = numbers(ran).run(tmp_path)
    assert dict(results) == {"one": 1, "two": {"number": 2}, "the sum": 3}
    assert ran == ["one", "two", "the sum"]
    assert results.workspace == tmp_path


@pytest.mark.parametrize("again", [Pipeline.run, Pipeline.resume])
def test_a_finished_pipeline_runs_nothing_again(
    tmp_path: Path, again: Callable[[Pipeline, Path], Context]
) -> None:
    numbers([]).run(tmp_path)
    before = (tmp_path / "state.log").read_bytes()
    ran: list[str] = []
    assert dict(again(numbers(ran), tmp_path)) == {"one": 1, "two": {"number": 2}, "the sum": 3}
    assert ran == []
    assert (tmp_path / "state.log").read_bytes() == before


def test_a_failed_stage_and_those_after_it_run_on_resume(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="two fails"):
        numbers([], fail_in="two").run(tmp_path)
    ran: list[str] = []
    pipeline = numbers(ran)
    assert dict(pipeline.results(tmp_path)) == {"one": 1}
    pipeline.resume(tmp_path)
    assert ran == ["two", "the sum"]


def test_a_value_that_cannot_be_kept_leaves_its_stage_undone(tmp_path: Path) -> None:
    pipeline = Pipeline("film")

    @pipeline.stage
    def render(context: Context) -> dict[str, Any]:
        return {"size": (640, 480)}

    with pytest.raises(StageValueError, match=r"stage 'render' .* value\['size'\] is of type tup"):
        pipeline.run(tmp_path)
    assert not pipeline.results(tmp_path)


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

    @pipeline.stage
    def look(context: Context) -> None:
        seen.append(context["make"])

    pipeline.run(tmp_path)
    assert seen == [[1]]


def test_a_context_knows_only_the_stages_that_are_done(tmp_path: Path) -> None:
    context = Context(tmp_path, {"one": "1"})
    assert list(context) == ["one"]
    assert "two" not in context
    assert context.get("two") is None
    with pytest.raises(KeyError, match="'two' is not a stage that is done by now"):
        context["two"]


def test_a_changed_pipeline_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    numbers([]).run(tmp_path)
    other = Pipeline("numbers")
    ran: list[str] = []

    @other.stage
    def first(context: Context) -> None:
        ran.append("first")

    with pytest.raises(ForeignStateError, match=r"'one' is recorded where .* has stage 'first'"):
        other.resume(tmp_path)
    assert ran == []


def test_a_stage_added_at_the_end_runs(tmp_path: Path) -> None:
    numbers([]).run(tmp_path)
    ran: list[str] = []
    longer = numbers(ran)
    longer.stage(lambda context: context["the sum"] * 2)
    assert longer.resume(tmp_path)["<lambda>"] == 6
    assert ran == []


def test_another_pipeline_in_the_workspace_is_refused(tmp_path: Path) -> None:
    numbers([]).run(tmp_path)
    song = Pipeline("song")
    song.stage(print)
    for meet in (song.run, song.results):
        with pytest.raises(ForeignStateError, match="of pipeline 'numbers', not of 'song'"):
            meet(tmp_path)


@pytest.mark.parametrize("name", ["", " ", "two\nlines", " render", "tab\tbed", "\ud800"])
def test_a_name_that_cannot_stand_in_a_line_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be the name of a pipeline"):
        Pipeline(name)
    with pytest.raises(DefinitionError, match="cannot be the name of a stage"):
        Pipeline("film").stage(name=name)(print)


def test_a_name_twice_is_refused() -> None:
    pipeline = Pipeline("film")
    pipeline.stage(print)
    with pytest.raises(DefinitionError, match="'film' already has a stage 'print'"):
        pipeline.stage(print)


def test_a_callable_without_a_name_is_asked_for_one(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    render = functools.partial(lambda number, context: number, 7)
    with pytest.raises(DefinitionError, match="'' cannot be the name of a stage"):
        pipeline.stage(render)
    pipeline.stage(name="render")(render)
    assert pipeline.run(tmp_path)["render"] == 7


def test_the_decorator_gives_the_function_back(tmp_path: Path) -> None:
    pipeline = Pipeline("film")

    def render(context: Context) -> int:
        return len(context)

    assert pipeline.stage(render) is render
    assert Pipeline("film").stage()(render) is render


def test_without_stages_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="'film' has no stages: add some with @stage"):
        Pipeline("film").run(tmp_path)


def test_a_workspace_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(WorkspaceError, match="is not a directory: create it first"):
            numbers([]).run(str(path))


def test_events_tell_start_input_and_done_or_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))
    (tmp_path / "w").mkdir()
    with pytest.raises(RuntimeError):
        numbers([], fail_in="the sum").run(tmp_path / "w")
    numbers([]).resume(tmp_path / "w")
    lines = events.read_text().splitlines()
    assert [line.split(" ")[0] for line in lines] == (
        ["start", "input", "done"] * 2 + ["start", "input", "fail"] + ["start", "input", "done"]
    )
    assert lines[6] == lines[9] == "start the sum"
    assert lines[7] == lines[10]  # the same input after the resume
    assert len({lines[1].split(" ")[-1], lines[4].split(" ")[-1], lines[7].split(" ")[-1]}) == 3
