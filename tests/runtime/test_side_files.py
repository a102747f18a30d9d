"""Files beside the log: durable before they are named, and whole when they are read."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import CommitError, Context, DamagedStateError, Pipeline, StateError
from checkpoint_runtime.codec import Attachment
from checkpoint_runtime.state import digesting
from checkpoint_runtime.state.facts import SideFile
from checkpoint_runtime.state.referred import Referred
from checkpoint_runtime.state.side_files import SideFiles
from tests.runtime.disk import Disk, failing, full_after, on
from tests.runtime.support import records_of

NAME = "line-7-1-1.bin"


def one() -> Attachment:
    return Attachment("bin", [b"one ", b"and more"])


def written(
    files: SideFiles, attachments: Sequence[Attachment], line: int, known: Referred
) -> dict[str, Any]:
    """How that line names them."""
    return files.write(attachments, line, known, lambda named: named)


KNOWN = {NAME: SideFile(12, one().sha256)}
NONE = Referred({})
DEADLINE_S = 20.0


@pytest.fixture
def files(tmp_path: Path) -> SideFiles:
    found = SideFiles(tmp_path)
    written(found, [one()], 7, NONE)
    return found


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_what_is_written_is_durable_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_a_thread: bool
) -> None:
    if in_a_thread:
        monkeypatch.setattr(digesting, "WORTH_A_THREAD_BYTES", 1)
    files = SideFiles(tmp_path)
    with on(Disk()) as disk:
        named = written(files, [one()], 7, NONE)
    assert named == {"files": {NAME: {"bytes": 12, "sha256": one().sha256}}}
    # The folder's name, then the file's data, then the file's name.
    assert disk.order[-6:] == ["open", "write", "write", "fsync", "open", "fsync"]
    assert disk.calls["mkdir"] == 1
    assert files.read(NAME, KNOWN[NAME]) == b"one and more"
    files.require(KNOWN)


def test_the_line_is_made_while_the_disk_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And from the digests: what a large commit costs is the disk."""
    monkeypatch.setattr(digesting, "WORTH_A_THREAD_BYTES", 1)
    made, fsync, found = threading.Event(), os.fsync, list[object]()

    def make(named: dict[str, Any]) -> str:
        found.append(named["files"][NAME]["sha256"])
        made.set()
        return "line"

    def slow(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".bin"):
            assert made.wait(DEADLINE_S)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    assert SideFiles(tmp_path).write([one()], 7, NONE, make) == "line"
    assert found == [one().sha256]


def test_the_files_of_a_line_are_numbered_and_their_names_made_durable_at_once(
    files: SideFiles,
) -> None:
    with on(Disk()) as disk:
        contents = [("bin", b"1"), ("txt", b"2"), ("txt", b"")]
        named = written(files, [Attachment(suffix, [data]) for suffix, data in contents], 8, NONE)
    assert list(named["files"]) == ["line-8-1-1.bin", "line-8-1-2.txt", "line-8-1-3.txt"]
    assert (files.folder / "line-8-1-2.txt").read_bytes() == b"2"
    assert disk.order == [*["open", "write", "fsync"] * 2, "open", "fsync", "open", "fsync"]


def test_without_attachments_nothing_is_touched(tmp_path: Path) -> None:
    with on(Disk()) as disk:
        assert written(SideFiles(tmp_path), [], 7, NONE) == {}
    assert disk.order == []


def test_what_stands_in_a_known_file_is_not_kept_twice(files: SideFiles) -> None:
    """Nor is the known file touched: a crash in that would lose it."""
    with on(Disk()) as disk:
        named = written(files, [Attachment("bin", [b"other"]), one(), one()], 9, Referred(KNOWN))
    assert list(named["files"]) == ["line-9-1-1.bin", NAME]
    assert sorted(os.listdir(files.folder)) == [NAME, "line-9-1-1.bin"]
    assert disk.order[-3:] == ["fsync", "unlink", "unlink"]  # durable first: no other order is
    assert (files.folder / NAME).read_bytes() == b"one and more"


def test_what_stands_twice_in_a_value_is_kept_once(files: SideFiles) -> None:
    named = written(files, [one(), Attachment("txt", [b"one and more"]), one()], 9, NONE)
    # Of another suffix it is something else.
    assert list(named["files"]) == ["line-9-1-1.bin", "line-9-1-2.txt"]
    assert sorted(os.listdir(files.folder)) == [NAME, "line-9-1-1.bin", "line-9-1-2.txt"]


def test_a_digest_that_only_begins_alike_is_another_one() -> None:
    sha256 = one().sha256
    known = Referred({NAME: SideFile(12, f"{sha256[:-1]}x")})
    assert known.holding(sha256, "bin") is None
    assert Referred(KNOWN).holding(sha256, "bin") == NAME


def test_a_known_file_is_never_written_over(files: SideFiles) -> None:
    """Though no sound log has one of a line that is still to come."""
    known = Referred({NAME: SideFile(12, one().sha256), "line-7-1-3.bin": SideFile(1, "")})
    named = written(files, [Attachment("bin", [b"a"]), Attachment("bin", [b"b"])], 7, known)
    assert list(named["files"]) == ["line-7-1-2.bin", "line-7-1-4.bin"]
    assert (files.folder / NAME).read_bytes() == b"one and more"


def test_one_that_a_crash_left_is_written_anew(files: SideFiles) -> None:
    path = files.folder / NAME
    path.write_bytes(b"half, and longer than before")
    written(files, [one()], 7, NONE)
    assert path.read_bytes() == b"one and more"


def test_a_folder_that_is_taken_away_during_a_run_is_told_and_not_made_again(
    files: SideFiles,
) -> None:
    """What is done is gone with it."""
    files.folder.rename(files.folder.with_name("taken"))
    with pytest.raises(CommitError, match=r"line-8-1-1\.bin: cannot write: No such file"):
        written(files, [one()], 8, NONE)
    assert not files.folder.exists()


def test_what_was_written_before_an_error_is_removed(
    files: SideFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = full_after(5)  # the first one, and four bytes of the second
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CommitError) as caught:
        written(files, [Attachment("bin", [b"1"]), Attachment("bin", [b"22222"])], 8, NONE)
    assert caught.value.path == files.folder / "line-8-1-2.bin"
    assert caught.value.needed_bytes == 6
    assert os.listdir(files.folder) == [NAME]


@pytest.mark.parametrize("content", [b"one and mora", b"one and mor", None])
def test_one_that_is_damaged_or_missing_is_told_with_what_to_do(
    files: SideFiles, content: bytes | None
) -> None:
    path = files.folder / NAME
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DamagedStateError) as caught:
        files.read(NAME, KNOWN[NAME])
    assert caught.value.path == path
    if content is None or len(content) != 12:
        with pytest.raises(DamagedStateError, match=r"missing|11 bytes, where 12 were committed"):
            files.require(KNOWN)


@pytest.mark.parametrize(
    "name",
    [
        *["../state.log", "x.bin", "/etc/passwd", "line-1-1-1.bin/..", "line-01-1-1.bin"],
        *["line-1-1.bin", f"{'0' * 32}.bin"],
    ],
)
def test_a_name_that_is_not_ours_is_not_followed(files: SideFiles, name: str) -> None:
    for meet in (
        lambda: files.read(name, SideFile(1, "")),
        lambda: files.require({name: SideFile(1, "")}),
    ):
        with pytest.raises(DamagedStateError, match="not a name of ours"):
            meet()


def test_the_sweep_takes_what_crashes_left_and_nothing_else(files: SideFiles) -> None:
    left = files.folder / "line-12-1-3.safetensors"
    left.touch()
    (files.folder / "notes.txt").touch()
    SideFiles(files.folder.parent, 2).sweep(Referred(KNOWN), lambda: None)
    assert sorted(os.listdir(files.folder)) == sorted([NAME, "notes.txt"])


def test_a_folder_in_place_of_a_file_gets_a_sentence(files: SideFiles) -> None:
    (files.folder / NAME).unlink()
    (files.folder / NAME).mkdir()
    with pytest.raises(StateError, match="cannot be read: Is a directory"):
        files.read(NAME, KNOWN[NAME])
    with pytest.raises(CommitError, match="cannot write: Is a directory"):
        written(files, [one()], 7, NONE)
    with pytest.raises(CommitError, match="cannot remove: Is a directory"):
        SideFiles(files.folder.parent, 2).sweep(NONE, lambda: None)


def large() -> Pipeline:
    pipeline = Pipeline("film")

    @pipeline.stage
    def paint(context: Context) -> bytes:
        return b"x" * 300_000

    @pipeline.stage
    def look(context: Context) -> int:
        return len(context["paint"])

    return pipeline


@pytest.mark.parametrize("fault", ["full", "sync", "directory"])
def test_a_side_file_that_is_not_durable_leaves_its_stage_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with monkeypatch.context() as patch:
        if fault == "full":
            write, full = os.write, full_after(100_000)
            patch.setattr(
                os, "write", lambda *args: (full if len(args[1]) > 50_000 else write)(*args)
            )
        elif fault == "sync":
            fsync = os.fsync

            def fail_for_files(descriptor: int) -> None:
                if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".bin"):
                    failing(errno.EIO)()
                fsync(descriptor)

            patch.setattr(os, "fsync", fail_for_files)
        else:
            patch.setattr(
                "checkpoint_runtime.state.side_files.make_directory", failing(errno.EACCES)
            )
        with pytest.raises(CommitError, match=r"cannot write: .*the state is as before") as caught:
            large().run(tmp_path)
    assert (caught.value.needed_bytes == 300_000) == (fault == "full")
    assert not any("done" in record for record in records_of(tmp_path))
    assert large().resume(tmp_path)["look"] == 300_000


def test_two_stages_may_return_the_same_content(tmp_path: Path) -> None:
    """The second refers to the file of the first."""
    pipeline = Pipeline("film")
    for name in ("one", "two"):
        pipeline.stage(name=name)(lambda context: b"x" * 300_000)
    pipeline.run(tmp_path)
    done = [record["files"] for record in records_of(tmp_path) if "done" in record]
    assert done[0] == done[1]
    assert os.listdir(tmp_path / "values") == list(done[0])
    assert dict(pipeline.results(tmp_path)) == {"one": b"x" * 300_000, "two": b"x" * 300_000}


def test_only_what_done_stages_refer_to_is_there_in_the_end(tmp_path: Path) -> None:
    content = b"x" * 300_000
    name = "line-3-1-1.bin"  # after the first one and an attempt
    large().run(tmp_path)
    (tmp_path / "values" / "line-4-1-1.json").touch()
    large().resume(tmp_path)
    assert os.listdir(tmp_path / "values") == [name]
    (tmp_path / "values" / name).unlink()
    with pytest.raises(DamagedStateError, match="missing"):
        large().resume(tmp_path)
    assert large().rerun(tmp_path, "paint")["paint"] == content
