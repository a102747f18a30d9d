"""Files beside the log: durable before they are named, and whole when they are read."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from checkpoint_runtime import CommitError, Context, DamagedStateError, Pipeline, StateError
from checkpoint_runtime.codec import Attachment
from checkpoint_runtime.state.facts import SideFile
from checkpoint_runtime.state.side_files import SideFiles
from tests.runtime.disk import Disk, failing, full_after, on
from tests.runtime.support import records_of

ONE = Attachment.of("bin", [b"one ", b"and more"])
KNOWN = {ONE.name: SideFile(ONE.size_bytes, ONE.sha256)}


@pytest.fixture
def files(tmp_path: Path) -> SideFiles:
    found = SideFiles(tmp_path)
    found.write([ONE], {})
    return found


def test_what_is_written_is_durable_and_read_back(tmp_path: Path) -> None:
    files = SideFiles(tmp_path)
    with on(Disk()) as disk:
        files.write([ONE], {})
    # The folder's name, then the file's data, then the file's name.
    assert disk.order[-6:] == ["open", "write", "write", "fsync", "open", "fsync"]
    assert disk.calls["mkdir"] == 1
    assert files.read(ONE.name, KNOWN[ONE.name]) == b"one and more"
    files.require(KNOWN)


def test_one_that_something_done_refers_to_is_never_written_again(files: SideFiles) -> None:
    with on(Disk()) as disk:
        files.write([ONE], KNOWN)
    assert disk.order == []


def test_one_that_a_crash_left_is_written_anew(files: SideFiles) -> None:
    path = files.folder / ONE.name
    path.write_bytes(b"half")
    files.write([ONE], {})
    assert path.read_bytes() == b"one and more"


@pytest.mark.parametrize("content", [b"one and mora", b"one and mor", None])
def test_one_that_is_damaged_or_missing_is_told_with_what_to_do(
    files: SideFiles, content: bytes | None
) -> None:
    path = files.folder / ONE.name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DamagedStateError) as caught:
        files.read(ONE.name, KNOWN[ONE.name])
    assert caught.value.path == path
    if content is None or len(content) != ONE.size_bytes:
        with pytest.raises(DamagedStateError, match=r"missing|11 bytes, where 12 were committed"):
            files.require(KNOWN)


@pytest.mark.parametrize("name", ["../state.log", "x.bin", "/etc/passwd", f"{'0' * 32}.bin/.."])
def test_a_name_that_is_not_ours_is_not_followed(files: SideFiles, name: str) -> None:
    for meet in (
        lambda: files.read(name, SideFile(1, "")),
        lambda: files.require({name: SideFile(1, "")}),
    ):
        with pytest.raises(DamagedStateError, match="not a name of ours"):
            meet()


def test_the_sweep_takes_what_crashes_left_and_nothing_else(files: SideFiles) -> None:
    left = files.folder / f"{'0' * 32}.safetensors"
    left.touch()
    (files.folder / "notes.txt").touch()
    files.sweep(KNOWN)
    assert sorted(os.listdir(files.folder)) == sorted([ONE.name, "notes.txt"])


def test_a_folder_in_place_of_a_file_gets_a_sentence(files: SideFiles) -> None:
    (files.folder / ONE.name).unlink()
    (files.folder / ONE.name).mkdir()
    with pytest.raises(StateError, match="cannot be read: Is a directory"):
        files.read(ONE.name, KNOWN[ONE.name])
    with pytest.raises(CommitError, match="cannot write: Is a directory"):
        files.write([ONE], {})
    with pytest.raises(CommitError, match="cannot remove: Is a directory"):
        files.sweep({})


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


def test_two_stages_may_return_the_same_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second does not touch the file of the first: a crash in that would lose it."""
    pipeline = Pipeline("film")
    for name in ("one", "two"):
        pipeline.stage(name=name)(lambda context: b"x" * 300_000)
    written: list[str] = []
    write = SideFiles.write

    def noted(self: SideFiles, attachments: list[Attachment], known: dict[str, SideFile]) -> None:
        with on(Disk()) as disk:
            write(self, attachments, known)
        written.append(" ".join(disk.order))

    monkeypatch.setattr(SideFiles, "write", noted)
    pipeline.run(tmp_path)
    assert len(written) == 2
    assert "unlink" in written[0]
    assert written[1] == ""
    assert dict(pipeline.results(tmp_path)) == {"one": b"x" * 300_000, "two": b"x" * 300_000}


def test_only_what_done_stages_refer_to_is_there_in_the_end(tmp_path: Path) -> None:
    content = b"x" * 300_000
    name = f"{hashlib.sha256(content).hexdigest()[:32]}.bin"
    large().run(tmp_path)
    (tmp_path / "values" / f"{'0' * 32}.json").touch()
    large().resume(tmp_path)
    assert os.listdir(tmp_path / "values") == [name]
    (tmp_path / "values" / name).unlink()
    with pytest.raises(DamagedStateError, match="missing"):
        large().resume(tmp_path)
    assert large().rerun(tmp_path, "paint")["paint"] == content
