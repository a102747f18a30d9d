"""Whether anything in a directory was touched, told by status alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_checkpoint.command.inspecting.footprint import footprint, touched
from pytest_checkpoint.errors import UserError


def _swap(folder: Path) -> None:
    """The same bytes, size, mode and times in another file."""
    status = (folder / "a").stat()
    (folder / "b").write_bytes((folder / "a").read_bytes())
    os.utime(folder / "b", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(folder / "b", folder / "a")


def _rewrite_and_hide(folder: Path) -> None:
    status = (folder / "a").stat()
    (folder / "a").write_bytes(b"other")
    os.utime(folder / "a", ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("touch", "told"),
    [
        (lambda folder: (folder / "a").write_bytes(b"other"), ["a"]),
        (_rewrite_and_hide, ["a"]),
        (_swap, [".", "a"]),
        (lambda folder: (folder / "d" / "new").touch(), ["d", "d/new"]),
        (lambda folder: (folder / "d").chmod(0o700), ["d"]),
        (lambda folder: (folder / "a").read_bytes(), []),
    ],
)
def test_whatever_touches_it_is_told(
    tmp_path: Path, touch: Callable[[Path], object], told: list[str]
) -> None:
    (tmp_path / "a").write_bytes(b"bytes")
    (tmp_path / "d").mkdir(mode=0o755)
    before = footprint(tmp_path)
    assert (before.files, before.data_bytes) == (1, 5)
    touch(tmp_path)
    assert touched(before, footprint(tmp_path)) == told


def test_what_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be looked at: No such file"):
        footprint(tmp_path / "none")
