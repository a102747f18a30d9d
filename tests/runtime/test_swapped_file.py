"""Files replaced whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint_runtime import CommitError
from checkpoint_runtime.state import swapped_file
from checkpoint_runtime.state.swapped_file import SwappedFile
from tests.runtime.disk import Disk, failing, on

READER = """
import os, sys
path, ready = sys.argv[1:]
seen, held = set(), []
os.write(1, b"reading\\n")
while not os.path.exists(ready):
    # Held open across many replacements, and read bit by bit.
    descriptor = os.open(path, os.O_RDONLY)
    content = b""
    while part := os.read(descriptor, 512):
        content += part
    os.close(descriptor)
    if len(set(content)) != 1 or len(content) not in (1000, 3000):
        sys.exit(f"a part was seen: {len(content)} bytes of {set(content)}")
    seen.add(content[0])
print(len(seen))
"""


def test_a_reader_in_another_process_never_sees_a_part(tmp_path: Path) -> None:
    path, ready = tmp_path / "file", tmp_path / "ready"
    file = SwappedFile(path)
    file.write(b"a" * 3000)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path), str(ready)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        for number in range(3000):
            file.write(bytes([97 + number % 20]) * (1000 if number % 2 else 3000))
        ready.touch()
        output, errors = reader.communicate(timeout=20)
    assert reader.returncode == 0, errors
    assert int(output) > 1


def test_whoever_still_reads_the_old_one_reads_it_to_its_end(tmp_path: Path) -> None:
    file = SwappedFile(tmp_path / "file")
    file.write(b"old")
    with (tmp_path / "file").open("rb") as reader:
        for number in range(3):
            file.write(b"new %d" % number)
        assert reader.read() == b"old"
    # A process was killed after it had swapped the two, and the old one is still read.
    spare = tmp_path / ".file.spare"
    spare.write_bytes(b"old")
    with spare.open("rb") as reader:
        file.write(b"newest")
        assert reader.read() == b"old"


@pytest.mark.parametrize("can_swap", [True, False])
def test_it_is_replaced_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_swap: bool
) -> None:
    if not can_swap:
        monkeypatch.setattr(swapped_file, "_renameat2", None)
    file = SwappedFile(tmp_path / "file")
    assert file.content() is None
    for content in (b"first", b"second, longer", b"3rd"):
        file.write(content)
        assert file.content() == content
        assert os.listdir(tmp_path) == ["file"]


def test_where_the_file_system_cannot_swap_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(swapped_file, "_renameat2", refuse)
    file = SwappedFile(tmp_path / "file")
    file.write(b"one")
    file.write(b"two")
    assert file.content() == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_at_every_kill_it_holds_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with on(Disk()) as undisturbed:
        SwappedFile(path).write(b"old")
        SwappedFile(path).write(b"new")
    for call in range(1, undisturbed.count + 1):
        path.unlink(missing_ok=True)
        with on(Disk(crash_before=call)):
            SwappedFile(path).write(b"old")
            SwappedFile(path).write(b"new")
        assert SwappedFile(path).content() in (None, b"old", b"new")
        SwappedFile(path).sweep()
        assert set(os.listdir(tmp_path)) <= {"file"}
        SwappedFile(path).write(b"after")
        assert (path.read_bytes(), os.listdir(tmp_path)) == (b"after", ["file"])
    assert undisturbed.calls["fsync"] == undisturbed.calls["fdatasync"] == 0


def test_a_failure_leaves_it_as_it_was_and_says_that_what_is_done_stays_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SwappedFile(tmp_path / "file")
    file.write(b"old")
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with pytest.raises(
        CommitError, match=r"cannot write: .*3 bytes are needed.* stays done"
    ) as caught:
        file.write(b"new")
    assert caught.value.needed_bytes == 3
    assert file.content() == b"old"
    monkeypatch.undo()
    monkeypatch.setattr(swapped_file, "_renameat2", failing(errno.EIO))
    with pytest.raises(CommitError, match="Input/output error"):
        file.write(b"new")
    assert file.content() == b"old"
