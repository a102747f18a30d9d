"""A directory copied, to the hole; and what stands in its way, in sentences."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_checkpoint.command.inspecting import copying
from pytest_checkpoint.command.inspecting.copying import copy_tree, require_room
from pytest_checkpoint.command.inspecting.footprint import Footprint, footprint
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences, walk


def original(folder: Path) -> Path:
    top = folder / "original"
    (top / "closed").mkdir(parents=True)
    (top / "closed" / "read-only").write_bytes(b"x" * 5000)
    os.link(top / "closed" / "read-only", top / "second-name")
    with open(top / "sparse", "wb") as sparse:
        sparse.write(b"head")
        sparse.seek(40 << 20)
        sparse.write(b"tail")
    os.truncate(top / "sparse", 60 << 20)
    (top / "empty").touch()
    os.symlink(top / "empty", top / "link")
    os.symlink("nowhere", top / "dangling")
    os.mkfifo(top / "pipe", 0o640)
    os.mkdir(os.fsencode(top) + b"/odd\xff\n")
    (top / "closed" / "read-only").chmod(0o400)
    os.utime(top / "sparse", ns=(1, 1_234_567_890_123_456_789))
    os.utime(top / "closed", ns=(1, 1_000_000_000_000_000_001))
    (top / "closed").chmod(0o500)
    return top


@pytest.mark.parametrize("in_kernel", [True, False])
def test_a_copy_is_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_kernel: bool
) -> None:
    if not in_kernel:
        monkeypatch.setattr(copying, "_PIECE_BYTES", 1000)
        monkeypatch.setattr(os, "copy_file_range", _not_between_these)
    top = original(tmp_path)
    target = tmp_path / "copy"
    target.mkdir()
    (target / "left from before").touch()
    told: list[int] = []
    copy_tree(top, target, told.append)
    one, other = capture(top).image, capture(target).image
    assert differences(one, other) == []
    times = [[node.mtime_ns for _, _, node in walk(image)] for image in (one, other)]
    assert times[0] == times[1]
    assert (target / "sparse").stat().st_blocks == (top / "sparse").stat().st_blocks
    assert not told or told == sorted(set(told))


def _not_between_these(*_: object) -> int:
    raise OSError(18, "Invalid cross-device link")


def test_no_room_is_told_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = original(tmp_path)
    there = footprint(top)
    require_room(top, there, tmp_path)
    wanted = Footprint(there.stamps, 1 << 60)
    monkeypatch.setattr(copying, "_can_clone", lambda *_: False)
    with pytest.raises(UserError) as told:
        require_room(top, wanted, tmp_path)
    assert str(told.value).startswith(f"the copy needs 1048576.0 TiB, and {tmp_path} has ")
    assert str(told.value).endswith("free: name a directory with more room by --workdir")


def test_what_cannot_be_copied_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none cannot be copied to .*: cannot read .*none"):
        copy_tree(tmp_path / "none", tmp_path, lambda _: None)


def test_inodes_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = original(tmp_path)
    there = footprint(top)
    status = os.statvfs_result((4096, 4096, 1 << 40, 1 << 40, 1 << 40, 100, 5, 5, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: status)
    with pytest.raises(UserError, match=rf"needs {len(there.stamps)} inodes, and .* has 5 free"):
        require_room(top, there, tmp_path)
