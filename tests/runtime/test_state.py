"""The log on disk: commits, repair, and the faults of the file system."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from checkpoint_runtime import DamagedStateError, ForeignStateError, UnwritableStateError
from checkpoint_runtime.lines import header_line, record_line
from checkpoint_runtime.state import FILE_NAME, StateLog, read_state

STAGES = ("one", "two")


@contextmanager
def opened(workspace: Path) -> Iterator[StateLog]:
    with StateLog(workspace, "film", STAGES) as log:
        yield log


def test_a_commit_is_read_back_by_the_next_process(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.commit("one", "1")
        log.commit("two", '"zwei"')
    with opened(tmp_path) as log:
        assert dict(log.values) == {"one": "1", "two": '"zwei"'}
    assert read_state(tmp_path, "film", STAGES) == {"one": "1", "two": '"zwei"'}


def test_reading_changes_nothing_and_needs_no_log(tmp_path: Path) -> None:
    assert read_state(tmp_path, "film", STAGES) == {}
    assert not list(tmp_path.iterdir())
    torn = header_line("film") + b"half a li"
    (tmp_path / FILE_NAME).write_bytes(torn)
    assert read_state(tmp_path, "film", STAGES) == {}
    assert (tmp_path / FILE_NAME).read_bytes() == torn


def test_a_torn_tail_is_cut_off_before_the_next_commit(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(header_line("film") + record_line("one", "1") + record_line("two", "2")[:-1])
    with opened(tmp_path) as log:
        assert path.read_bytes() == header_line("film") + record_line("one", "1")
        log.commit("two", "3")
    assert read_state(tmp_path, "film", STAGES) == {"one": "1", "two": "3"}


@pytest.mark.parametrize("size", range(len(header_line("film"))))
def test_a_log_killed_before_its_header_was_whole_starts_afresh(tmp_path: Path, size: int) -> None:
    (tmp_path / FILE_NAME).write_bytes(header_line("film")[:size])
    with opened(tmp_path) as log:
        log.commit("one", "1")
    assert read_state(tmp_path, "film", STAGES) == {"one": "1"}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"someone else's file", DamagedStateError),
        (header_line("song"), ForeignStateError),
        (header_line("song") + b"torn", ForeignStateError),
    ],
)
def test_a_refused_file_is_left_as_it_was(
    tmp_path: Path, data: bytes, error: type[Exception]
) -> None:
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(error):
        StateLog(tmp_path, "film", STAGES)
    assert (tmp_path / FILE_NAME).read_bytes() == data


def test_a_directory_in_its_place_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(UnwritableStateError) as caught:
        StateLog(tmp_path, "film", STAGES)
    assert str(caught.value) == (
        f"{tmp_path / FILE_NAME}: cannot open the state log: Is a directory"
    )
    with pytest.raises(UnwritableStateError, match="cannot read the state log: Is a directory"):
        read_state(tmp_path, "film", STAGES)


def test_a_commit_is_one_write_then_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def noted(name: str) -> Callable[..., object]:
        call: Callable[..., object] = getattr(os, name)

        def wrapper(*args: object) -> object:
            calls.append(name)
            return call(*args)

        return wrapper

    with opened(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "write", noted("write"))
        patch.setattr(os, "fsync", noted("fsync"))
        log.commit("one", "1")
    assert calls == ["write", "fsync"]


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with opened(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
        log.commit("one", "1")
    assert read_state(tmp_path, "film", STAGES) == {"one": "1"}


def fail_with(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def test_a_full_disk_takes_back_the_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    room = [5]

    def write_until_full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise fail_with(errno.ENOSPC)
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    with opened(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "write", write_until_full)
        with pytest.raises(UnwritableStateError, match="append to the state log: No space left"):
            log.commit("one", "1")
        assert not log.values
    assert (tmp_path / FILE_NAME).read_bytes() == header_line("film")


def test_a_line_whose_sync_failed_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise fail_with(errno.EIO)

    with opened(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(UnwritableStateError, match="Input/output error") as caught:
            log.commit("one", "1")
    assert caught.value.__notes__ == [
        "what was written of it could not be taken back either: Input/output error"
    ]
    assert read_state(tmp_path, "film", STAGES) == {}
