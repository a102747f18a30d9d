"""Capture and restore against real directories."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences, key
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, Special, Symlink
from pytest_checkpoint.tree.restore import restore

NAMES = [
    b"plain",
    b"with\nnewline\tand tab",
    b"\xff\xfe not UTF-8",
    "ümläut".encode(),
    b"-rf",
    b"*",
]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    yield from _openable(tmp_path / "source")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    yield from _openable(tmp_path / "target")


def _openable(directory: Path) -> Iterator[Path]:
    directory.mkdir()
    yield directory
    # pytest's own cleaning would stumble over directories that nobody may enter.
    for path, _, _ in os.walk(directory, topdown=True, onerror=None):
        for name in os.listdir(path):
            inner = os.path.join(path, name)
            if stat.S_ISDIR(os.lstat(inner).st_mode):
                os.chmod(inner, 0o700)


def _everything(directory: Path) -> None:
    base = os.fsencode(directory)
    for name in NAMES:
        Path(os.fsdecode(os.path.join(base, name))).write_bytes(b"content of " + name)
    inner = directory / "inner" / "most"
    inner.mkdir(parents=True)
    (inner / "file").write_bytes(b"x" * 10_000)
    os.link(inner / "file", directory / "hard link")
    os.symlink("inner", directory / "to a directory")
    os.symlink(b"nowhere\xff", os.path.join(base, b"dangling"))
    os.link(directory / "dangling", inner / "dangling too", follow_symlinks=False)
    os.mkfifo(directory / "fifo", 0o640)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_PATH)
        os.chdir(directory)  # a socket's path may not be long
        try:
            listener.bind("socket")
        finally:
            os.fchdir(here)
            os.close(here)
    (directory / "empty").touch()
    (directory / "read only").write_bytes(b"r")
    os.chmod(directory / "read only", 0o400)
    (directory / "setuid").write_bytes(b"s")
    os.chmod(directory / "setuid", 0o6711)
    (directory / "sticky").mkdir()
    os.chmod(directory / "sticky", 0o3777)
    for path, names, files in os.walk(directory):
        for entry in names + files:
            os.utime(os.path.join(path, entry), ns=(1, 1_234_567_891), follow_symlinks=False)
    os.utime(directory, ns=(1, 987_654_321_012))


def test_round_trip_of_everything(source: Path, target: Path) -> None:
    _everything(source)
    image = capture(source).image

    restore(image, target)

    found = capture(target).image
    assert found == image  # modes, owners, times and attributes too
    assert differences(image, found) == []
    assert key(image) == key(found)
    assert os.stat(target / "hard link").st_ino == os.stat(target / "inner/most/file").st_ino


def test_what_stood_there_goes(source: Path, target: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"p")
    _everything(target)
    os.symlink(outside, target / "leads out")
    (target / "closed").mkdir()
    (target / "closed" / "x").write_bytes(b"x")
    os.chmod(target / "closed", 0)
    (source / "only").write_bytes(b"1")

    restore(capture(source).image, target)

    assert os.listdir(target) == ["only"]
    assert (outside / "precious").read_bytes() == b"p"


def test_excluded_names_are_neither_read_nor_touched(source: Path, target: Path) -> None:
    (source / "kept").write_bytes(b"not to be read")
    (source / "a").write_bytes(b"a")
    (source / "inner").mkdir()
    (source / "inner" / "kept").write_bytes(b"only names at the top count")
    (target / "kept").mkdir()
    (target / "kept" / "mine").write_bytes(b"m")
    exclude = frozenset({b"kept"})

    image = capture(source, exclude=exclude).image
    restore(image, target, exclude=exclude)
    restore(capture(source).image, target, exclude=exclude)

    assert sorted(os.listdir(target)) == ["a", "inner", "kept"]
    assert (target / "kept" / "mine").read_bytes() == b"m"
    assert capture(target, exclude=exclude).image == image


def test_closed_directories_come_back_closed(source: Path, target: Path) -> None:
    (source / "closed").mkdir()
    (source / "closed" / "x").write_bytes(b"x")
    (source / "b").write_bytes(b"b")
    os.link(source / "closed" / "x", source / "z")
    image = capture(source).image
    closed = {
        number: replace(node, mode=0) if isinstance(node, Directory) else node
        for number, node in image.nodes.items()
    }

    restore(Image(closed), target)
    restore(Image(closed), target)  # also over its like

    assert stat.S_IMODE(os.stat(target).st_mode) == 0
    os.chmod(target, 0o700)
    assert stat.S_IMODE(os.stat(target / "closed").st_mode) == 0
    os.chmod(target / "closed", 0o700)
    assert os.stat(target / "closed" / "x").st_ino == os.stat(target / "z").st_ino


def test_sparse_files_stay_sparse(source: Path, target: Path) -> None:
    with open(source / "sparse", "wb") as file:
        file.truncate(1 << 30)
        file.seek(300 << 20)
        file.write(b"island")
    with open(source / "hole at the end", "wb") as file:
        file.write(b"begin")
        file.truncate(50_000_000)
    image = capture(source).image

    restore(image, target)

    assert capture(target).image == image
    for name in ("sparse", "hole at the end"):
        assert os.stat(target / name).st_size == os.stat(source / name).st_size
        assert os.stat(target / name).st_blocks < 1000


def test_a_large_file_is_written_whole(source: Path, target: Path) -> None:
    data = bytes(range(256)) * 40_000  # more blocks than one call takes
    content = Content.of(data).zero(5_000_000, 100_000, keep_size=True).write(5_050_001, b"x")
    nodes = {ROOT: Directory(mode=0o700, entries={b"f": 1}), 1: File(mode=0o600, content=content)}
    restore(Image(nodes), target)
    assert (target / "f").read_bytes() == content.read()


def test_attributes_round_trip(source: Path, target: Path) -> None:
    (source / "f").write_bytes(b"f")
    try:
        os.setxattr(source / "f", "user.note", b"n\0\xff")
        os.setxattr(source, "user.top", b"t")
        os.setxattr(target, "user.stale", b"s")
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            pytest.skip("the file system has no user attributes")
        raise
    os.chmod(source / "f", 0o400)
    restore(capture(source).image, target)
    assert os.getxattr(target / "f", "user.note") == b"n\0\xff"
    assert os.listxattr(target) == ["user.top"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owners_round_trip(source: Path, target: Path) -> None:
    (source / "d").mkdir()
    (source / "d" / "f").write_bytes(b"f")
    os.symlink("d", source / "l")
    for name in ("d/f", "d", "l"):
        os.chown(source / name, 12345, 54321, follow_symlinks=False)
    os.chmod(source / "d" / "f", 0o6755)
    image = capture(source).image
    restore(image, target)
    assert capture(target).image == image


def test_numbers_follow_the_sorted_walk(source: Path) -> None:
    (source / "b").mkdir()
    (source / "b" / "z").touch()
    (source / "b" / "a").touch()
    (source / "a").touch()
    os.link(source / "b" / "z", source / "c")

    captured = capture(source)

    def number(name: str) -> int:
        status = os.stat(source / name)
        return captured.identities[status.st_dev, status.st_ino]

    assert [number(name) for name in (".", "a", "b", "b/a", "b/z", "c")] == [0, 1, 2, 3, 4, 4]
    top = captured.image.nodes[ROOT]
    assert isinstance(top, Directory)
    assert top.entries == {b"a": 1, b"b": 2, b"c": 4}


def test_without_content_files_are_empty(source: Path) -> None:
    (source / "f").write_bytes(b"data")
    captured = capture(source, content=False)
    assert captured.identities == capture(source).identities
    node = captured.image.nodes[1]
    assert isinstance(node, File)
    assert node.content.size == 0


def test_deep_trees(source: Path, target: Path) -> None:
    path = source
    for _ in range(400):
        path = path / "d"
    os.makedirs(path)
    image = capture(source).image
    restore(image, target)
    restore(image, target)
    assert capture(target).image == image


def test_no_directory_is_a_sentence(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(HarnessError, match=r"cannot read .*missing.*: No such file"):
        capture(missing)
    empty = Image({ROOT: Directory(mode=0o700, entries={})})
    with pytest.raises(HarnessError, match=r"cannot restore a crash state in .*missing"):
        restore(empty, missing)
    (tmp_path / "file").touch()
    with pytest.raises(HarnessError, match="is not a directory"):
        capture(tmp_path / "file")
    nameless = Image({ROOT: Directory(mode=0o700, entries={b"x": 7})})
    with pytest.raises(HarnessError, match="names the node 7, which it lacks"):
        restore(nameless, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_unreadable_is_a_sentence(source: Path) -> None:
    (source / "secret").write_bytes(b"s")
    os.chmod(source / "secret", 0)
    with pytest.raises(HarnessError, match=r"secret.*Permission denied"):
        capture(source)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_as_another_user(tmp_path: Path) -> None:
    """What only an unprivileged user meets: closed directories to empty, files it cannot read."""
    target = tmp_path / "theirs"
    target.mkdir()
    for path in (target, *target.parents):
        if path == Path("/tmp"):
            break
        os.chmod(path, 0o755)
    os.chown(target, 65534, 65534)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, __file__, target], env=environment, check=True, timeout=60, cwd="/"
    )


def _meet_permissions(target: Path) -> int:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    nodes: dict[int, Node] = {
        ROOT: Directory(mode=0o500, entries={b"d": 1, b"l": 4, b"s": 5}),
        1: Directory(mode=0, entries={b"d": 2, b"f": 3}),
        2: Directory(mode=0o100, entries={b"f": 3}),
        3: File(mode=0, content=Content.of(b"f"), attributes={}),
        4: Symlink(mode=0o777, target=b"d"),
        5: Special(mode=0, kind="fifo"),
    }
    restore(Image(nodes), target)
    restore(Image(nodes), target)
    try:
        capture(target)
    except HarnessError as error:
        refused = "Permission denied" in str(error)
    else:
        refused = False
    restore(Image({ROOT: Directory(mode=0o700, entries={})}), target)
    return 0 if refused and not os.listdir(target) else 1


if __name__ == "__main__":
    sys.exit(_meet_permissions(Path(sys.argv[1])))
