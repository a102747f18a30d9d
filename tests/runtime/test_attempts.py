"""What counts as an attempt, and what is released: full disks, signals, inputs that are damaged."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime import (
    CommitError,
    Context,
    ContextError,
    DamagedStateError,
    EnvironmentVariableError,
    Pipeline,
    StageState,
)
from tests.runtime.conftest import Waits
from tests.runtime.disk import failing, full_after
from tests.runtime.support import film, one, records_of


def attempts(workspace: Path, pipeline: Pipeline, stage: int) -> tuple[StageState, int]:
    found = pipeline.status(workspace).stages[stage]
    return found.state, found.attempts


NONE = (StageState.PENDING, 0)


def large(context: Context) -> bytes:
    return b"x" * 300_000


def full_for_large() -> Callable[[int, bytes], int]:
    """``os.write`` with room for small things, and for a part of a large one."""
    write, full = os.write, full_after(9_000)
    return lambda descriptor, data: (full if len(data) > 9_999 else write)(descriptor, data)


@pytest.mark.parametrize("work", [large, lambda context: "x" * 30_000], ids=["side file", "log"])
def test_a_full_disk_uses_up_no_attempt_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Context], object]
) -> None:
    pipeline = one(work, attempts=2)
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full_for_large())
            with pytest.raises(CommitError, match="are needed") as caught:
                pipeline.resume(tmp_path)
        assert not hasattr(caught.value, "__notes__")
        assert attempts(tmp_path, pipeline, 0) == NONE
        assert not list((tmp_path / "values").iterdir() if work is large else [])
    assert pipeline.resume(tmp_path)["after"] == "ran"


def test_where_the_log_takes_nothing_more_it_says_that_the_attempt_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = failing(errno.EIO)

    def work(context: Context) -> int:
        monkeypatch.setattr(os, "fdatasync", broken)
        return 1

    pipeline = one(work)
    with pytest.raises(CommitError) as caught:
        pipeline.run(tmp_path)
    monkeypatch.undo()
    assert "does not count could not be recorded: it counts." in caught.value.__notes__[-1]
    assert attempts(tmp_path, pipeline, 0) == (StageState.BEGUN, 1)


def test_a_half_side_file_that_cannot_be_removed_goes_with_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        unlink = os.unlink

        def stuck(path: Path) -> None:
            if os.path.exists(path) and str(path).endswith(".bin"):
                failing(errno.EIO)()
            unlink(path)

        patch.setattr(os, "write", full_for_large())
        patch.setattr(os, "unlink", stuck)
        with pytest.raises(CommitError):
            one(large).run(tmp_path)
    assert len(os.listdir(tmp_path / "values")) == 1
    assert one(lambda context: 1).resume(tmp_path)["work"] == 1
    assert os.listdir(tmp_path / "values") == []


def test_an_input_that_cannot_be_read_uses_up_no_attempt(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="large")(large)
    pipeline.map(lambda context, item: len(context["large"]), [1, 2], name="use", attempts=1)
    pipeline.stage(name="end")(lambda context: "end")
    broken = Pipeline("film")
    broken.stage(name="large")(large)

    def spoil(context: Context) -> list[int]:
        (side_file,) = (tmp_path / "values").iterdir()
        side_file.write_bytes(b"y" * 300_000)
        return [1, 2]

    broken.map(lambda context, item: len(context["large"]), spoil, name="use", attempts=1)
    with pytest.raises(DamagedStateError) as caught:
        broken.run(tmp_path)
    assert "the digest differs. It is part of what 'large' returned. Bring it back as it was, " in (
        str(caught.value)
    )
    assert str(caught.value).endswith("do that again: pipeline.rerun(workspace, 'large')")
    assert records_of(tmp_path)[-1] == {"released": "use"}
    assert pipeline.rerun(tmp_path, "large")["end"] == "end"


def test_events_that_cannot_be_written_use_up_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_EVENTS", "/dev/full")
    with pytest.raises(EnvironmentVariableError, match="cannot append to /dev/full"):
        film().run(tmp_path)
    monkeypatch.delenv("CHECKPOINT_EVENTS")
    assert attempts(tmp_path, film(), 0) == NONE


def test_an_input_that_is_not_declared_ends_the_run_and_uses_up_no_attempt(
    tmp_path: Path, waits: Waits
) -> None:
    def asking(for_: str) -> Pipeline:
        pipeline = Pipeline("film")
        pipeline.stage(name="first")(lambda context: 1)
        pipeline.stage(name="second")(lambda context: 2)
        pipeline.stage(name="ask", attempts=3)(lambda context: context[for_])
        pipeline.stage(name="later")(lambda context: 4)
        return pipeline

    for name, words in (
        ("first", r"which is not an input of it: name it, after=\['second', 'first'\]"),
        ("later", "which is not defined before it: .* Define 'later' first"),
        ("nobody", "which is no stage of its pipeline."),
    ):
        with pytest.raises(ContextError, match=f"stage 'ask' asked for '{name}', {words}"):
            asking(name).resume(tmp_path)
        assert attempts(tmp_path, asking(name), 2) == NONE
    assert waits.seconds == []
    assert asking("second").resume(tmp_path)["ask"] == 2
