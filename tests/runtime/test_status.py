"""What stands in a workspace, stage by stage, for whoever looks without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Pipeline, StageFailedError, StageState, Status
from tests.runtime.support import fail, files_in, film, log_of

FIRST: dict[str, Any] = {"format": 2, "pipeline": "film"}
DONE: dict[str, Any] = {
    "done": "research", "version": "1", "inputs": {}, "parameters": "p", "digest": "d",
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


def test_what_is_recorded_and_no_stage_any_more_is_named(tmp_path: Path) -> None:
    film().run(tmp_path)
    other = Pipeline("film")
    other.stage(name="research")(lambda context: None)
    status = other.status(tmp_path)
    assert status.unknown == ("render", "assemble")
    assert status.finished
