"""Lines are whole or do not count, wherever the writer was killed or the power was cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.keeping.lines import Lines, line_of, read_lines

VALUES = [["keep", "one", {"said": "é\n"}], ["forget", "o"], ["keep", "two", [1, 2.5, None]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    with Lines(path) as lines:
        for value in VALUES:
            lines.append(value)
    return path


def test_what_is_written_is_read(path: Path) -> None:
    assert read_lines(path) == (VALUES, path.stat().st_size)
    assert read_lines(path, 1) == (VALUES[:1], len(line_of(VALUES[0])))


def test_nothing_is_read_where_nothing_is(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "absent") == ([], 0)


def test_cut_anywhere_the_whole_lines_before_count_and_it_can_be_gone_on_with(path: Path) -> None:
    text = path.read_bytes()
    ends = [0]
    for value in VALUES:
        ends.append(ends[-1] + len(line_of(value)))
    for cut in range(len(text) + 1):
        path.write_bytes(text[:cut])
        whole = sum(end <= cut for end in ends) - 1

        values, whole_bytes = read_lines(path)
        with Lines(path, whole_bytes) as lines:
            lines.append("new")

        assert values == VALUES[:whole]
        assert read_lines(path)[0] == [*VALUES[:whole], "new"]


@pytest.mark.parametrize("place", ["digest", "value", "end"])
def test_what_a_power_cut_has_zeroed_does_not_count(path: Path, place: str) -> None:
    text = path.read_bytes()
    begin = len(line_of(VALUES[0]))
    offset = {"digest": begin + 3, "value": begin + 30, "end": len(text) - 9}[place]
    path.write_bytes(text[:offset] + bytes(8) + text[offset + 8 :])

    assert read_lines(path)[0] == VALUES[: 2 if place == "end" else 1]


def test_every_line_is_in_the_file_before_the_next_thing_is_done(tmp_path: Path) -> None:
    with Lines(tmp_path / "lines") as lines:
        lines.append("kept")
        assert read_lines(tmp_path / "lines")[0] == ["kept"]


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(HarnessError, match="cannot be written to"), _appending(tmp_path) as lines:
        lines.append("lost")


def _appending(folder: Path) -> Lines:
    class OnADevice(Lines):
        """What has no length cannot be cut."""

        def __enter__(self) -> OnADevice:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            return self

    return OnADevice(folder / "full")
