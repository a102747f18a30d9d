"""A workspace without its log: begun by nobody, or robbed of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime import Context, DamagedStateError, Pipeline
from tests.runtime.disk import Disk, on
from tests.runtime.support import RESULT, files_in, film


def large() -> Pipeline:
    pipeline = Pipeline("film")
    pipeline.stage(name="large")(lambda context: b"x" * 300_000)
    return pipeline


def without_handoff(workspace: Path) -> None:
    for name in ("handoff.json", "handoff.md"):
        (workspace / name).unlink()


@pytest.mark.parametrize(
    ("keep", "found"),
    [
        (lambda workspace: None, "values/ and handoff.json"),
        (without_handoff, "values/"),
        (lambda workspace: os.unlink(next((workspace / "values").iterdir())), "handoff.json"),
    ],
)
@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda log: os.truncate(log, 0), lambda log: os.truncate(log, 20)]
)
def test_a_log_that_is_lost_is_not_begun_anew_beside_what_it_told_of(
    tmp_path: Path, lose: Callable[[Path], None], keep: Callable[[Path], None], found: str
) -> None:
    large().run(tmp_path)
    keep(tmp_path)
    lose(tmp_path / "state.log")
    before = files_in(tmp_path)
    for meet in (large().run, large().resume, large().status, large().results):
        with pytest.raises(DamagedStateError) as caught:
            meet(tmp_path)
        assert f"missing or empty, while the workspace holds {found} of a run. Bring it" in str(
            caught.value
        )
    assert files_in(tmp_path) == before


def test_what_others_keep_there_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "mine.bin").touch()
    for text in ("", "{", "[1]", '{"done": [], "next": null}'):
        (tmp_path / "handoff.json").write_text(text)
        assert dict(film().run(tmp_path)) == RESULT
        (tmp_path / "state.log").unlink()


def test_the_name_of_the_log_and_its_first_line_are_durable_before_anything_else_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power loss could leave what is refused here."""
    seen: list[str] = []
    open_ = os.open

    def opened(path: str | Path, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            seen.append(f"create {Path(path).name}")
        return open_(path, flags, *mode)

    with on(Disk()) as disk:
        fsync, fdatasync = os.fsync, os.fdatasync

        def name_of(descriptor: int) -> str:
            return Path(os.readlink(f"/proc/self/fd/{descriptor}")).name

        def synced(descriptor: int) -> None:
            seen.append(f"sync {name_of(descriptor)}")
            fsync(descriptor)

        def data_synced(descriptor: int) -> None:
            seen.append(f"sync {name_of(descriptor)}")
            fdatasync(descriptor)

        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "fdatasync", data_synced)
        one_stage().run(tmp_path / "w")
        monkeypatch.undo()
    assert disk.count > 0
    first = next(index for index, call in enumerate(seen) if call.startswith("create .handoff"))
    before = seen[:first]
    assert before.index("create state.log") < before.index("sync w")
    assert before.count("sync state.log") >= 2


def one_stage() -> Pipeline:
    def work(context: Context) -> int:
        return 1

    pipeline = Pipeline("film")
    pipeline.stage(work)
    return pipeline
