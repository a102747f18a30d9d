"""What looks damaged in a directory, and which files hold its own path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_checkpoint.command.inspecting.footprint import footprint
from pytest_checkpoint.command.inspecting.signs import (
    leading_out,
    names_itself,
    owned_by_another,
    signs,
)
from pytest_checkpoint.command.inspecting.writers import writers


def test_what_looks_damaged_is_told(tmp_path: Path) -> None:
    (tmp_path / "whole.json").write_text('{"step": 3}')
    (tmp_path / "cut.json").write_text('{"step": ')
    (tmp_path / "state.json.tmp").write_text("half")
    (tmp_path / "model.pt.partial").write_text("half")
    (tmp_path / ".done_1").touch()
    (tmp_path / "shard-00012.bin").write_text("x")
    (tmp_path / "template.txt").write_text("x")
    assert signs(tmp_path, footprint(tmp_path)) == (
        ".done_1 is empty (a marker may be, a state may not)",
        "2 files look like leftovers of writes that never ended: model.pt.partial, state.json.tmp",
        "cut.json is no whole JSON",
    )


def test_in_a_sound_directory_there_is_nothing_to_tell(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("[1, 2]")
    assert signs(tmp_path, footprint(tmp_path)) == ()


def test_another_ones_directory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert owned_by_another(tmp_path) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert "and the commands ran as user 4000000, who may do" in owned_by_another(tmp_path)


def test_links_out_of_the_directory_are_named(tmp_path: Path) -> None:
    for name in ("run", "copy", "far"):
        (tmp_path / name).mkdir()
    for name in ("run", "copy"):
        os.symlink("../far", tmp_path / name / "checkpoints")
        os.symlink(tmp_path / "run", tmp_path / name / "itself")
        os.symlink("checkpoints", tmp_path / name / "by another")
        os.symlink("none", tmp_path / name / "dangling")
    copy = tmp_path / "copy"
    assert leading_out(copy, footprint(copy), tmp_path / "run") == (
        "by another → checkpoints",
        "checkpoints → ../far",
    )


def test_files_and_links_that_hold_the_path_are_named(tmp_path: Path) -> None:
    directory = Path("/data/run7")
    (tmp_path / "config").write_bytes(b"\0\x0a/data/run7/part-1\0")
    (tmp_path / "other").write_text("/data/run77 /data/run7.old /data/run7-2")
    (tmp_path / "end").write_text("in /data/run7")
    os.symlink("/data/run7/part-1", tmp_path / "link")
    os.symlink("/nowhere/run7", tmp_path / "away")
    found = names_itself(tmp_path, footprint(tmp_path), directory)
    assert found == ("config", "end", "link")


def test_who_still_writes_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "read").touch()
    program = "import sys; f = open(*sys.argv[1:]); print('open', flush=True); sys.stdin.read()"
    for name, mode, count in (("log", "a", 1), ("read", "r", 0)):
        with subprocess.Popen(
            [sys.executable, "-SE", "-c", program, str(tmp_path / name), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            found = writers(tmp_path)
            assert len(found) == count
            assert all(text.startswith(f"{process.pid} (") for text in found)
            process.communicate("")
    assert writers(tmp_path) == []
