"""A stage's own directory: empty at each attempt, gone once the stage is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkpoint_runtime import CommitError, Context, Pipeline, StageFailedError
from checkpoint_runtime.state.scratch import Scratch
from tests.runtime.disk import Disk, on


def test_it_is_made_when_it_is_asked_for_and_the_same_within_an_attempt(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, 1)
    assert not list(tmp_path.iterdir())
    one = scratch.directory("render")
    assert one == scratch.directory("render") == tmp_path / ".scratch" / "1-render"
    (one / "sub").mkdir()
    (one / "sub" / "file").touch()
    scratch.empty()
    assert not list(tmp_path.iterdir())


def test_what_an_earlier_process_left_is_swept(tmp_path: Path) -> None:
    (Scratch(tmp_path, 1).directory("render") / "file").touch()
    Scratch(tmp_path, 2).sweep(lambda: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [".", "..", "...", "a b", "%2E", "ä" * 200, "\\", "*", "-rf ~"])
def test_whatever_a_stage_is_called_its_directory_is_below_that_of_all(
    tmp_path: Path, name: str
) -> None:
    pipeline = Pipeline("film")

    @pipeline.stage(name=name)
    def work(context: Context) -> int:
        (context.scratch / "file").touch()
        assert context.scratch.parent.resolve() == (tmp_path / "w" / ".scratch").resolve()
        return len(os.listdir(context.scratch))

    assert pipeline.run(tmp_path / "w")[name] == 1
    assert ".scratch" not in os.listdir(tmp_path / "w")


def test_each_attempt_finds_it_empty_and_a_failed_one_leaves_it_to_be_looked_at(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline("film")
    found: list[list[str]] = []

    @pipeline.stage(attempts=2, backoff_s=0)
    def work(context: Context) -> None:
        found.append(os.listdir(context.scratch))
        (context.scratch / "file").touch()
        raise RuntimeError

    with pytest.raises(StageFailedError):
        pipeline.run(tmp_path)
    assert found == [[], []]
    assert os.listdir(tmp_path / ".scratch" / "1-work") == ["file"]


def test_it_costs_nothing_unless_it_is_used(tmp_path: Path) -> None:
    with on(Disk()) as disk:
        Scratch(tmp_path, 1).empty()
    assert disk.order == []


def test_one_that_cannot_be_made_or_emptied_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".scratch").touch()
    with pytest.raises(CommitError, match="cannot make: Not a directory"):
        Scratch(tmp_path, 1).directory("render")
    with pytest.raises(CommitError, match=r"cannot empty: Not a directory.* stays done"):
        Scratch(tmp_path, 1).sweep(lambda: None)
