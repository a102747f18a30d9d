"""What became of each file of a copy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_checkpoint.command.inspecting import fates
from pytest_checkpoint.command.inspecting.copying import copy_tree
from pytest_checkpoint.command.inspecting.fates import Changed, Fate, changes, empty_folders
from pytest_checkpoint.command.inspecting.footprint import footprint


def _become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _replace_by_the_same(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


BYTES = b"0123456789" * 10
CASES: dict[str, tuple[Callable[[Path], object], Fate | None, int | None]] = {
    "deleted": (Path.unlink, Fate.DELETED, None),
    "emptied": (lambda path: path.write_bytes(b""), Fate.CUT, 0),
    "cut": (lambda path: os.truncate(path, 70), Fate.CUT, 70),
    "rewritten": (lambda path: path.write_bytes(BYTES[::-1]), Fate.REWRITTEN, 100),
    "shorter and other": (lambda path: path.write_bytes(b"012x"), Fate.REWRITTEN, 4),
    "longer and other": (lambda path: path.write_bytes(b"x" + BYTES), Fate.REWRITTEN, 101),
    "added to": (_append, Fate.GROWN, 104),
    "mode": (lambda path: path.chmod(0o600), Fate.MODE, 100),
    "type": (_become_folder, Fate.REPLACED, None),
    "touched": (os.utime, Fate.AGAIN, 100),
    "the same again": (_replace_by_the_same, Fate.AGAIN, 100),
    "linked": (lambda path: os.link(path, path.with_name("other")), None, None),
    "read": (Path.read_bytes, None, None),
}


@pytest.mark.parametrize("window", [7, 10, 1 << 20])
@pytest.mark.parametrize("case", CASES)
def test_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, window: int) -> None:
    monkeypatch.setattr(fates, "_WINDOW_BYTES", window)
    touch, fate, size = CASES[case]
    found = after(tmp_path, lambda copy: touch(copy / "d" / "file"))
    found = tuple(one for one in found if one.fate is not Fate.NEW)
    if fate is None:
        assert found == ()
        return
    (one,) = found
    assert (one.path, one.fate, one.size_before, one.folder) == (b"d/file", fate, 100, "d")
    assert one.size_after == size or fate is Fate.REPLACED


def test_what_is_moved_aside_is_not_lost(tmp_path: Path) -> None:
    def move(copy: Path) -> None:
        os.rename(copy / "d" / "file", copy / "d" / "file.bad")
        (copy / "new").write_bytes(b"12")

    assert after(tmp_path, move) == (
        Changed(b"d/file", Fate.MOVED, 100, 100, b"d/file.bad"),
        Changed(b"new", Fate.NEW, None, 2),
    )


def test_a_link_that_leads_elsewhere_is_rewritten(tmp_path: Path) -> None:
    def lead(copy: Path) -> None:
        (copy / "link").unlink()
        os.symlink("elsewhere", copy / "link")

    (one,) = after(tmp_path, lead)
    assert (one.path, one.fate) == (b"link", Fate.REWRITTEN)


def test_a_hole_that_both_have_is_not_read(tmp_path: Path) -> None:
    """Terabytes of it: the test would not end otherwise."""
    original, copy = tmp_path / "original", tmp_path / "copy"
    original.mkdir()
    with (original / "file").open("wb") as file:
        file.truncate(10 << 40)
        file.seek(5 << 40)
        file.write(b"middle")
    copy.mkdir()
    copy_tree(original, copy, lambda _: None)
    before = footprint(copy)
    for text, fate in ((b"middle", Fate.AGAIN), (b"Middle", Fate.REWRITTEN)):
        with (copy / "file").open("r+b") as file:
            file.seek(5 << 40)
            file.write(text)
        (one,) = changes(original, copy, before, footprint(copy))
        assert one.fate is fate


def test_directories_without_files(tmp_path: Path) -> None:
    for name in ("full/in", "empty/in"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "full" / "in" / "file").touch()
    before = footprint(tmp_path)
    assert empty_folders(before, before) == ()
    shutil.rmtree(tmp_path / "empty")
    shutil.rmtree(tmp_path / "full")
    (tmp_path / "new").mkdir()
    after = footprint(tmp_path)
    assert empty_folders(before, after) == ("empty/", "empty/in/")
    assert empty_folders(after, before) == ("new/",)


def after(tmp_path: Path, touch: Callable[[Path], object]) -> tuple[Changed, ...]:
    original, copy = tmp_path / "original", tmp_path / "copy"
    (original / "d").mkdir(parents=True)
    (original / "d" / "file").write_bytes(BYTES)
    os.symlink("d", original / "link")
    copy.mkdir()
    copy_tree(original, copy, lambda _: None)
    before = footprint(copy)
    touch(copy)
    return changes(original, copy, before, footprint(copy))
