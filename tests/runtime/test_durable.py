"""Directories whose names last, files that are whole, and what an error of the disk says."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint_runtime.state import durable, early
from checkpoint_runtime.state.durable import (
    ALL_RECORDED,
    commit_error,
    make_directory,
    write_new_file,
)
from tests.runtime.disk import Disk, on


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The directories that are synced, in order."""
    found: list[Path] = []
    sync = durable.sync_directory

    def noted(path: Path) -> None:
        found.append(path)
        sync(path)

    monkeypatch.setattr(durable, "sync_directory", noted)
    return found


def test_every_directory_on_the_way_is_synced_into_its_parent(
    tmp_path: Path, synced: list[Path]
) -> None:
    make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    # First that of the deepest one that was there: a killed process may not have come to it.
    assert synced == [tmp_path.parent, tmp_path, tmp_path / "a"]
    synced.clear()
    make_directory(tmp_path / "a" / "b")
    assert synced == []


def test_a_parent_that_may_not_be_read_is_nobodys_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        if path == tmp_path.parent:
            raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(durable, "sync_directory", refuse)
    make_directory(tmp_path / "a")
    assert (tmp_path / "a").is_dir()


def test_a_file_in_the_way_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        make_directory(tmp_path / "a")
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        make_directory(tmp_path / "a" / "b")


def test_a_new_file_is_durable_before_its_name_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with on(Disk()) as disk:
        write_new_file(path, [b"one ", memoryview(b"two")])
    assert path.read_bytes() == b"one two"
    assert disk.order == ["open", "write", "write", "fsync"]


@pytest.mark.parametrize("size_bytes", [early.WORTH_TWO_WRITES_BYTES - 1, 700_001])
@pytest.mark.parametrize("fails", [False, True])
def test_the_disk_begins_with_the_first_half_of_much_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int, *, fails: bool
) -> None:
    send, results = early._sync_file_range, list[int]()
    assert send is not None

    def noted(descriptor: int, *arguments: int) -> int:
        results.append(-1 if fails else send(descriptor, *arguments))
        disk.order.append("send")
        return results[-1]

    monkeypatch.setattr(early, "_sync_file_range", noted)
    content = os.urandom(size_bytes)
    with on(Disk()) as disk:
        write_new_file(tmp_path / "file", [content])
    assert (tmp_path / "file").read_bytes() == content
    much = size_bytes >= early.WORTH_TWO_WRITES_BYTES
    # That it fails changes nothing: it is the sync that counts.
    assert disk.order == ["open", *(["write", "send"] if much else []), "write", "fsync"]
    assert results == ([-1 if fails else 0] if much else [])


def test_where_the_disk_cannot_be_told_to_begin_much_data_is_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "_sync_file_range", None)
    with on(Disk()) as disk:
        write_new_file(tmp_path / "file", [bytes(1 << 20)])
    assert (tmp_path / "file").stat().st_size == 1 << 20
    assert disk.order == ["open", "write", "fsync"]


def test_one_that_a_crash_left_is_not_gone_on_with(tmp_path: Path) -> None:
    """What a failed sync of it left in the cache would pass for written."""
    path = tmp_path / "file"
    path.write_bytes(b"left by a crash, and longer")
    before = path.stat().st_ino
    with path.open("rb") as held, on(Disk()) as disk:  # its number is not given to another one
        write_new_file(path, [b"new"])
        assert held.read() == b"left by a crash, and longer"
    assert (path.read_bytes(), path.stat().st_ino != before) == (b"new", True)
    assert disk.order == ["open", "unlink", "open", "write", "fsync"]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "no"), KeyboardInterrupt()])
def test_half_a_new_file_is_removed(tmp_path: Path, error: BaseException) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise error

    with pytest.raises(type(error)):
        write_new_file(tmp_path / "file", chunks())
    assert list(tmp_path.iterdir()) == []


def test_an_error_says_what_it_means_for_what_is_recorded(tmp_path: Path) -> None:
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    path = tmp_path / "x"
    assert str(commit_error("write", path, error, 5)) == (
        f"{path}: cannot write: Input/output error. What was to be recorded is not; the state is "
        "as before."
    )
    assert str(commit_error("write", path, error, 5, therefore=ALL_RECORDED)) == (
        f"{path}: cannot write: Input/output error. What is recorded as done stays done; this is "
        "made up for by the next run."
    )
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert commit_error("write", tmp_path / "no" / "folder", full, 5).free_bytes == 0
