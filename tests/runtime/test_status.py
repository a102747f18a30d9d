"""What stands in a workspace, stage by stage, for whoever looks without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    ChangedPipelineError,
    DamagedStateError,
    Pipeline,
    StageFailedError,
    StageState,
    Status,
)
from checkpoint_runtime.stored import digest_of, encoded_parameters
from tests.runtime.support import fail, files_in, film, log_of

FIRST: dict[str, Any] = {"format": 4, "pipeline": "film"}
DONE: dict[str, Any] = {
    "done": "research", "version": "1", "inputs": {}, "digest": "d",
    "parameters": digest_of(encoded_parameters({})),
    "at": "then", "took_s": 1.5, "value": 7,
}  # fmt: skip


def states(status: Status) -> list[StageState]:
    return [stage.state for stage in status.stages]


def test_nothing_has_run_in_an_empty_folder(tmp_path: Path) -> None:
    status = film().status(tmp_path)
    assert (status.begun, status.finished, status.unknown) == (False, False, ())
    assert states(status) == [StageState.PENDING] * 3
    assert not list(tmp_path.iterdir())


def test_what_is_done_failed_and_pending(tmp_path: Path) -> None:
    with pytest.raises(StageFailedError):
        film(render=fail).run(tmp_path)
    before = files_in(tmp_path)
    status = film().status(tmp_path)
    assert files_in(tmp_path) == before
    done, failed, pending = status.stages
    assert (done.state, done.error, done.attempts) == (StageState.DONE, None, 0)
    assert done.at is not None
    assert done.took_s is not None
    assert done.digest is not None
    assert (failed.state, failed.error, failed.attempts, failed.budget) == (
        StageState.FAILED,
        "RuntimeError: out of paint",
        1,
        10,
    )
    assert (pending.state, pending.after) == (StageState.PENDING, ("research", "render"))
    assert (status.begun, status.finished) == (True, False)
    assert (status.count(StageState.DONE), status.workspace) == (1, tmp_path)
    film().resume(tmp_path)
    assert film().status(tmp_path).finished


@pytest.mark.parametrize(
    ("begun", "failed", "state"),
    [
        (1, False, StageState.BEGUN),
        (1, True, StageState.FAILED),
        (10, True, StageState.POISONED),
        (10, False, StageState.POISONED),
    ],
)
def test_a_stage_that_was_begun(
    tmp_path: Path, begun: int, failed: bool, state: StageState
) -> None:
    records = [FIRST, DONE, *[{"attempt": "render"}] * begun]
    if failed:
        records.append({"failed": "render", "error": "E", "at": "now"})
    (tmp_path / "state.log").write_bytes(log_of(records))
    assert states(film().status(tmp_path)) == [StageState.DONE, state, StageState.PENDING]


def test_what_is_done_and_has_changed_since_is_told_as_resume_would(tmp_path: Path) -> None:
    film().run(tmp_path)
    other = Pipeline("film")
    other.stage(name="research", version="2")(lambda context: None)
    other.stage(name="render")(lambda context: None)
    other.stage(name="assemble", after=["research", "render"])(lambda context: None)
    other.stage(name="new")(lambda context: None)
    status = other.status(tmp_path)
    assert states(status)[:3] == [StageState.CHANGED, StageState.DONE, StageState.DONE]
    problem = "stage 'research' was done in version '1', and is version '2' now"
    assert status.stages[0].problem == problem
    assert (status.finished, status.refused, status.next) == (False, True, ())
    with pytest.raises(ChangedPipelineError, match=problem):
        other.resume(tmp_path)


def test_a_side_file_that_is_missing_or_cut_is_told_as_resume_would(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="small")(lambda context: 1)
    pipeline.map(lambda context, item: item * 300_000, [b"x", b"y"], name="large")
    pipeline.run(tmp_path)
    (second,) = json.loads((tmp_path / "handoff.json").read_bytes())["done"][2]["where"]
    for left, words in (
        (b"cut", "3 bytes, where 300,000 were committed"),
        (None, "this part of a committed value is missing"),
    ):
        (tmp_path / second).unlink() if left is None else (tmp_path / second).write_bytes(left)
        status = pipeline.status(tmp_path)
        assert states(status) == [StageState.DONE, StageState.DAMAGED]
        assert words in (status.stages[1].problem or "")
        assert status.stages[1].remedy == "pipeline.rerun(workspace, 'large[1]')"
        assert (status.refused, status.next) == (True, ())
        with pytest.raises(DamagedStateError) as caught:
            pipeline.resume(tmp_path)
        assert f"{words}. It is part of what 'large[1]' returned." in str(caught.value)
    assert pipeline.rerun(tmp_path, "large[1]")["large"][1] == b"y" * 300_000


def test_next_is_what_a_resume_would_run(tmp_path: Path) -> None:
    assert film().status(tmp_path).next == ("research",)
    with pytest.raises(StageFailedError):
        film(render=fail).run(tmp_path)
    assert film().status(tmp_path).next == ("render",)
    film().resume(tmp_path)
    assert film().status(tmp_path).next == ()


def test_the_total_of_items_is_known_from_a_list_or_once_one_is_done(tmp_path: Path) -> None:
    def mapped(items: Any) -> Pipeline:
        pipeline = Pipeline("film")
        pipeline.map(lambda context, item: 1 // item, items, name="m")
        return pipeline

    def totals(items: Any) -> tuple[int | None, int | None]:
        stage = mapped(items).status(tmp_path).stages[0]
        return stage.items_done, stage.items_total

    assert totals([1, 0, 2]) == (0, 3)
    assert totals(lambda context: [1, 0, 2]) == (0, None)
    with pytest.raises(StageFailedError):
        mapped(lambda context: [1, 0, 2]).run(tmp_path)
    assert totals(lambda context: [1, 0, 2]) == (1, 3)
    mapped(lambda context: [1, 2]).resume(tmp_path)
    assert totals(lambda context: [1, 0, 2]) == (2, 2)


def test_what_is_recorded_and_no_stage_any_more_is_named(tmp_path: Path) -> None:
    film().run(tmp_path)
    other = Pipeline("film")
    other.stage(name="research")(lambda context: None)
    status = other.status(tmp_path)
    assert status.unknown == ("render", "assemble")
    assert (status.finished, status.refused, status.next) == (False, True, ())
