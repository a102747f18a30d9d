"""Attempts and their budget, failures of every sort, what runs after one and what does not."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

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
from checkpoint_runtime.texts import words_of
from tests.runtime.conftest import Waits
from tests.runtime.support import RESULT, Ran, fail, failing_times, film, one


def test_nothing_after_a_failed_stage_runs_and_resume_tries_it_again(tmp_path: Path) -> None:
    ran: Ran = []
    with pytest.raises(StageFailedError) as caught:
        film(ran, render=fail).run(tmp_path)
    error = caught.value
    assert re.fullmatch(r"tests/runtime/support.py:\d+ in fail", error.where or "")
    assert str(error) == (
        f"stage 'render' failed: RuntimeError: out of paint ({error.where}). Nothing after it ran; "
        "resume tries it again (1 of 10 attempts used)."
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
            f"attempt 3 ({caught.value.where}). It is not tried again by itself. See to the cause, "
            "then clear it: pipeline.rerun(workspace, 'work')"
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
    with pytest.raises(StageFailedError, match="stage 'b' failed") as caught:
        branches(ran, broken=True).run(tmp_path, keep_going=True)
    assert ran == ["a", "b", "d", "e"]
    status = branches(ran, broken=True).status(tmp_path)
    assert [stage.name for stage in status.stages if stage.state is StageState.FAILED] == ["b", "d"]
    handoff = (tmp_path / "handoff.md").read_text()
    assert "**`b` failed**" in handoff
    assert "**`d` failed**" in handoff
    assert "**Next:** `b`, `d`" in handoff
    assert "stage 'd' failed: RuntimeError: d" in caught.value.__notes__[0]
    assert "Nothing that is built on it ran" in str(caught.value)
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


def test_a_stage_that_runs_its_own_pipeline_in_its_own_workspace_is_told_so(
    tmp_path: Path,
) -> None:
    def work(context: Context) -> object:
        return pipeline.resume(context.workspace)

    pipeline = one(work)
    own = r"'work' failed: WorkspaceInUseError: .*own workspace"
    with pytest.raises(StageFailedError, match=own):
        pipeline.run(tmp_path)
    assert pipeline.status(tmp_path).stages[0].attempts == 1


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
    use_status = pipeline.status(tmp_path).stages[1]
    assert (use_status.state, use_status.attempts) == (StageState.PENDING, 0)
