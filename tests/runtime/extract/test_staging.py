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


def test_leftovers_are_swept_its_own_and_those_of_the_dead(tmp_path: Path) -> None:
    own, dead = tmp_path / "shard-0-of-2", tmp_path / "shard-3-of-4"
    strange = tmp_path / "somebody"
    for folder in (own, dead, strange):
        folder.mkdir()
        for name in (f"{KEY}.safetensors", f".{KEY}.part", "progress.json", "notes.safetensors"):
            (folder / name).write_bytes(b"left")
    (dead / "lock").touch()
    (own / f"{'cd' * 20}.safetensors").mkdir()
    (tmp_path / f"{KEY}.safetensors").write_bytes(b"left")
    (tmp_path / "shard-5-of-6").symlink_to(strange)
    notes: list[str] = []
    with ShardFolder(tmp_path, "shard-0-of-2", notes.append) as held:
        assert held.path == own
        left = set(files_in(tmp_path))
    kept = {"shard-0-of-2/notes.safetensors", "shard-3-of-4/notes.safetensors"}
    assert kept <= left
    assert f"shard-0-of-2/{'cd' * 20}.safetensors" in left  # a directory is none of ours
    assert not left & {f"shard-{one}/{KEY}.safetensors" for one in ("0-of-2", "3-of-4")}
    assert not left & {f"shard-{one}/.{KEY}.part" for one in ("0-of-2", "3-of-4")}
    assert len(files_in(strange)) == 4
    assert (tmp_path / f"{KEY}.safetensors").exists()
    assert "shard-3-of-4/progress.json" in left
    assert notes == [f"{dead}: removed 2 staged files of a writer that is gone"]


def test_a_directory_without_a_lock_is_nobodys(tmp_path: Path) -> None:
    left = tmp_path / "shard-3-of-4" / f"{KEY}.safetensors"
    left.parent.mkdir()
    left.touch()
    with ShardFolder(tmp_path, "shard-0-of-2", pytest.fail):
        assert left.exists()


def test_who_is_there_is_left_alone_and_may_not_be_started_twice(tmp_path: Path) -> None:
    name = f"{KEY}.safetensors"
    command = [sys.executable, "-c", HOLDER, str(tmp_path), "shard-1-of-2", name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as holder, in_time(holder):  # type: ignore[call-overload]
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with ShardFolder(tmp_path, "shard-0-of-2", pytest.fail):
            assert (tmp_path / "shard-1-of-2" / name).exists()
        with (
            pytest.raises(WorkspaceInUseError, match=f"in use by process {holder.pid}"),
            ShardFolder(tmp_path, "shard-1-of-2", pytest.fail),
        ):
            pytest.fail("two workers had one directory")
        holder.kill()
        holder.wait()
        notes: list[str] = []
        with ShardFolder(tmp_path, "shard-0-of-2", notes.append):
            assert not (tmp_path / "shard-1-of-2" / name).exists()
        assert len(notes) == 1


def test_a_staging_that_is_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StagingError, match="cannot be made: Not a directory"),
        ShardFolder(tmp_path / "file", "shard-0-of-1", print),
    ):
        pytest.fail("it was made")
