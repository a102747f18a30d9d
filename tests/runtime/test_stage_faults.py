"""A stage that is made to fail on request, and one line of environment that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint_runtime import EnvironmentVariableError, Pipeline, StageFailedError
from checkpoint_runtime.stage_faults import VARIABLE, InjectedStageFault, StageFaults
from tests.runtime.support import RESULT, Ran, film


def test_without_the_variable_nothing_happens() -> None:
    for _ in range(3):
        StageFaults.from_environment(film()._stages).strike("render")


def test_the_stage_of_that_name_fails_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "raise:a:b:2")  # a name may hold a colon
    pipeline = Pipeline("film")
    for name in ("a", "a:b"):
        pipeline.stage(name=name)(lambda context: None)
    faults = StageFaults.from_environment(pipeline._stages)
    faults.strike("a")
    for _ in range(2):
        with pytest.raises(InjectedStageFault, match="asked for by CHECKPOINT_STAGE_FAULT"):
            faults.strike("a:b")
    faults.strike("a:b")


@pytest.mark.parametrize("text", ["render", "raise:render", "raise::1", "raise:a:-1", "exit:a:1"])
def test_anything_else_is_refused_before_a_stage_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    ran: Ran = []
    with pytest.raises(EnvironmentVariableError, match="is not raise:NAME:TIMES"):
        film(ran).run(tmp_path)
    assert ran == []


@pytest.mark.parametrize("name", ["nobody", "render[0]", "nobody[0]"])
def test_what_is_no_stage_is_refused_before_a_stage_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(VARIABLE, f"raise:{name}:1")
    with pytest.raises(EnvironmentVariableError, match=r"which is no stage: there are 'research',"):
        film().run(tmp_path)
    assert not (tmp_path / "state.log").exists()


def test_a_stage_of_another_pipeline_of_the_process_disturbs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Pipeline("other")
    other.stage(name="elsewhere")(lambda context: None)
    monkeypatch.setenv(VARIABLE, "raise:elsewhere:1")
    assert dict(film().run(tmp_path / "film")) == RESULT
    with pytest.raises(StageFailedError, match="InjectedStageFault"):
        other.run(tmp_path / "other")


def test_a_pipeline_meets_it_in_place_of_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "raise:render:1")
    ran: Ran = []
    with pytest.raises(StageFailedError, match="InjectedStageFault: asked for"):
        film(ran).run(tmp_path)
    assert ran == ["research"]
    monkeypatch.delenv(VARIABLE)
    assert dict(film(ran).resume(tmp_path)) == RESULT


@pytest.mark.parametrize(("name", "done"), [("double", []), ("double[1]", [2])])
def test_a_mapped_stage_is_struck_at_its_start_or_at_one_of_its_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, done: list[int]
) -> None:
    ran: list[int] = []

    def double(context: object, item: int) -> int:
        ran.append(item * 2)
        return item * 2

    pipeline = Pipeline("film")
    pipeline.map(double, [1, 2])
    monkeypatch.setenv(VARIABLE, f"raise:{name}:1")
    with pytest.raises(StageFailedError):
        pipeline.run(tmp_path)
    assert ran == done
    monkeypatch.delenv(VARIABLE)
    assert pipeline.resume(tmp_path)["double"] == [2, 4]
    assert ran == [2, 4]
