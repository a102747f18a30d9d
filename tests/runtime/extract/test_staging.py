"""The staging on a real file system: what is written, what is swept, whose it is."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime.errors import WorkspaceInUseError
from checkpoint_runtime.extract.errors import StagingError
from checkpoint_runtime.extract.staging.folder import ShardFolder
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Room
from checkpoint_runtime.extract.staging.stage import Stage
from tests.runtime.support import files_in, in_time

KEY = "ab" * 20
CONTENT = memoryview(b"hidden states" * 1000)

HOLDER = """
import sys
from pathlib import Path
from checkpoint_runtime.extract.staging.folder import ShardFolder
with ShardFolder(Path(sys.argv[1]), sys.argv[2], print) as folder:
    (folder.path / sys.argv[3]).write_bytes(b"staged")
    print("held", flush=True)
    sys.stdin.read()
"""
"""A worker that holds its directory until it is killed."""


def stage_in(folder: Path, **marks: float) -> Stage:
    return Stage(folder, Room(folder, Marks(high=1.0, low=1.0, **marks)))  # type: ignore[arg-type]


def test_room_is_set_aside_before_and_the_file_gets_its_name_whole(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    place = stage.reserve(KEY, len(CONTENT) + 500)
    (part,) = tmp_path.iterdir()
    assert part.name == f".{KEY}.part"
    assert part.stat().st_size == len(CONTENT) + 500
    assert part.stat().st_blocks * 512 >= len(CONTENT)
    path = place.write(CONTENT)
    assert files_in(tmp_path) == {f"{KEY}.safetensors": bytes(CONTENT)}
    assert path == tmp_path / f"{KEY}.safetensors"
    assert stage.room.held_bytes >= len(CONTENT)
    place.remove()
    place.remove()
    assert (files_in(tmp_path), stage.room.held_bytes) == ({}, 0)


def test_a_short_count_is_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, data[:999], at))
    stage_in(tmp_path).reserve(KEY, len(CONTENT)).write(CONTENT)
    assert files_in(tmp_path) == {f"{KEY}.safetensors": bytes(CONTENT)}


Failing = Callable[[str, int, int], list[str]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Lets so many calls of a function of ``os`` fail."""

    def let(name: str, number: int, times: int) -> list[str]:
        real, failed = getattr(os, name), list[str]()

        def call(*arguments: object) -> object:
            if len(failed) < times:
                failed.append(name)
                raise OSError(number, os.strerror(number))
            return real(*arguments)

        monkeypatch.setattr(os, name, call)
        return failed

    return let


@pytest.mark.parametrize("name", ["posix_fallocate", "pwrite", "open", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_all_the_same_is_a_pause(
    tmp_path: Path, failing: Failing, name: str, number: int
) -> None:
    notes: list[str] = []
    room = Room(tmp_path, Marks(high=1.0, low=1.0), note=notes.append)
    failed = failing(name, number, 2)
    place = Stage(tmp_path, room).reserve(KEY, len(CONTENT))
    place.write(CONTENT)
    assert len(failed) == 2
    assert files_in(tmp_path) == {f"{KEY}.safetensors": bytes(CONTENT)}
    assert len(notes) == 2
    assert f"is full: {os.strerror(number)}, although there seemed to be room" in notes[0]
    assert "has room again after" in notes[1]
    assert (room.pauses, room.paused_s > 0) == (1, True)


@pytest.mark.parametrize("name", ["posix_fallocate", "pwrite"])
def test_no_room_is_an_error_at_the_deadline_and_leaves_nothing(
    tmp_path: Path, failing: Failing, name: str
) -> None:
    failed = failing(name, errno.ENOSPC, 10**6)
    stage = stage_in(tmp_path, deadline_s=0.15)
    with pytest.raises(StagingError, match="no room for the next batch: 16,384 bytes are needed"):
        stage.reserve(KEY, len(CONTENT)).write(CONTENT)
    assert 2 <= len(failed) <= 5
    assert files_in(tmp_path) == {}


def test_another_error_is_none_of_room(tmp_path: Path, failing: Failing) -> None:
    failing("pwrite", errno.EIO, 1)
    stage = stage_in(tmp_path)
    place = stage.reserve(KEY, 10)
    with pytest.raises(StagingError, match=r"safetensors cannot be staged: Input/output error\."):
        place.write(CONTENT[:10])
    place.remove()
    assert (files_in(tmp_path), stage.room.held_bytes) == ({}, 0)


def test_without_fallocate_the_worker_counts_itself(tmp_path: Path, failing: Failing) -> None:
    failing("posix_fallocate", errno.EOPNOTSUPP, 1)
    stage = stage_in(tmp_path)
    place = stage.reserve(KEY, len(CONTENT))
    (held,) = stage.room._held
    assert not held.is_on_disk
    place.write(CONTENT)
    assert held.is_on_disk


def test_what_is_left_is_taken_up_left_to_others_or_removed(tmp_path: Path) -> None:
    own, dead, fewer = (tmp_path / f"shard-{one}" for one in ("0-of-2", "1-of-2", "3-of-4"))
    strange = tmp_path / "somebody"
    mine, moved, theirs, nobodys = ("ab" * 20, "cd" * 20, "ef" * 20, "01" * 20)
    for folder in (own, dead, fewer, strange):
        folder.mkdir()
        for name in (
            f"{theirs}.safetensors", f"{nobodys}.safetensors", f".{nobodys}.part",
            "progress.json", "notes.safetensors",
        ):  # fmt: skip
            (folder / name).write_bytes(b"left")
        (folder / "lock").touch()
    (own / f"{mine}.safetensors").write_bytes(b"mine")
    (fewer / f"{moved}.safetensors").write_bytes(b"moved")
    (own / f"{'23' * 20}.safetensors").mkdir()
    (tmp_path / "shard-5-of-6").symlink_to(strange)
    strangers = files_in(strange)
    notes: list[str] = []
    with ShardFolder(tmp_path, "shard-0-of-2", notes.append) as held:
        assert held.path == own
        names = set(os.listdir(own))
        assert not names & {f".{nobodys}.part", "progress.json"}
        assert {f"{mine}.safetensors", f"{nobodys}.safetensors"} <= names  # nothing is known yet
        found = held.take_up({mine, moved, "23" * 20}, {theirs})
        assert found == {mine, moved}
        at_work = files_in(tmp_path)
        assert held.clear()
        assert not held.clear()
    common = {"lock", "notes.safetensors"}
    (own / f"{'23' * 20}.safetensors").rmdir()
    del at_work[f"shard-0-of-2/{'23' * 20}.safetensors"]  # a directory is none of ours
    assert {Path(name).name for name in at_work if name.startswith("shard-0-of-2/")} == {
        *common, f"{mine}.safetensors", f"{moved}.safetensors",
    }  # fmt: skip
    assert at_work[f"shard-0-of-2/{moved}.safetensors"] == b"moved"
    for folder in (dead, fewer):
        assert {Path(name).name for name in at_work if name.startswith(f"{folder.name}/")} == {
            *common, f"{theirs}.safetensors", "progress.json",
        }  # fmt: skip
        assert set(os.listdir(folder)) == {*common, "progress.json"}  # when there was no room
    assert files_in(strange) == strangers
    assert set(os.listdir(own)) >= {f"{mine}.safetensors", f"{moved}.safetensors"}
    assert notes[-1] == f"{own}: 2 staged files left for the next start, which takes them up"
    assert f"{fewer / moved}.safetensors: taken from a writer that is gone" in notes
    assert f"{dead}: removed 1 staged file of a writer that is gone" in notes


def test_a_directory_without_a_lock_is_nobodys(tmp_path: Path) -> None:
    left = tmp_path / "shard-3-of-4" / f"{KEY}.safetensors"
    left.parent.mkdir()
    left.touch()
    with ShardFolder(tmp_path, "shard-0-of-2", pytest.fail) as folder:
        assert folder.take_up({KEY}, ()) == frozenset()
        assert left.exists()


def test_who_is_there_is_left_alone_and_may_not_be_started_twice(tmp_path: Path) -> None:
    name = f"{KEY}.safetensors"
    command = [sys.executable, "-c", HOLDER, str(tmp_path), "shard-1-of-2", name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as holder, in_time(holder):  # type: ignore[call-overload]
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with ShardFolder(tmp_path, "shard-0-of-2", pytest.fail) as beside:
            assert (beside.take_up({KEY}, ()), beside.clear()) == (frozenset(), False)
            assert (tmp_path / "shard-1-of-2" / name).exists()
        with (
            pytest.raises(WorkspaceInUseError, match=f"in use by process {holder.pid}"),
            ShardFolder(tmp_path, "shard-1-of-2", pytest.fail),
        ):
            pytest.fail("two workers had one directory")
        holder.kill()
        holder.wait()
        notes: list[str] = []
        with ShardFolder(tmp_path, "shard-0-of-2", notes.append) as beside:
            assert beside.take_up((), ()) == frozenset()
            assert not (tmp_path / "shard-1-of-2" / name).exists()
        assert len(notes) == 1


def test_a_staging_that_is_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StagingError, match="cannot be made: Not a directory"),
        ShardFolder(tmp_path / "file", "shard-0-of-1", print),
    ):
        pytest.fail("it was made")
