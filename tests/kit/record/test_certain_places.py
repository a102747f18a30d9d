"""Absolute paths of recorded directories are not looked at, and mean what a look would tell."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.directories import Directories
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    NodeKind,
    SetAttribute,
    SetMode,
    SetOwner,
)
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.tracked import TrackedTree, identity_of
from pytest_checkpoint.tree.image import ROOT, NodeId
from tests.kit.record.recorders import recorder_of, tree_of

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_WALK = """
import os, random, sys
top, chance = sys.argv[1], random.Random(int(sys.argv[2]))
def path():
    return "/".join([top, *(chance.choice("abc") for _ in range(chance.choice((1, 2, 2, 3))))])
def make(where):
    flags = chance.choice((0, os.O_EXCL, os.O_TRUNC, os.O_NOFOLLOW, os.O_APPEND))
    file = os.open(where, os.O_CREAT | os.O_RDWR | flags, 0o640)
    os.write(file, b"x" * chance.randrange(1, 9))
    os.close(file)
deeds = {
    "make": lambda: make(path()),
    "mkdir": lambda: os.mkdir(path(), chance.choice((0o755, 0o700))),
    "rename": lambda: os.rename(path(), path()),
    "symlink": lambda: os.symlink(chance.choice((path(), chance.choice("abc"), ".")), path()),
    "link": lambda: os.link(path(), path(), follow_symlinks=False),
    "unlink": lambda: os.unlink(path()),
    "rmdir": lambda: os.rmdir(path()),
    "chmod": lambda: os.chmod(path(), chance.choice((0o755, 0o600))),
    "truncate": lambda: os.truncate(path(), 3),
}
names = [*deeds, "make", "make", "make", "mkdir", "mkdir", "rename"]
for _ in range(400):
    name = chance.choice(names)
    try:
        deeds[name]()
        print(name)
    except OSError as error:
        print(name, error.errno)
for folder, folders, files in sorted(os.walk(top)):
    print(folder[len(top):], sorted(folders), sorted(files))
"""


@pytest.mark.parametrize("seed", range(4))
def test_random_walks_end_as_without_the_recorder(
    runner: Runner, tmp_path: Path, seed: int
) -> None:
    recorded = runner.run(
        sys.executable, "-SE", "-c", _WALK, str(runner.client.workspace), str(seed)
    )
    bare = subprocess.run(
        [sys.executable, "-SE", "-c", _WALK, str(tmp_path), str(seed)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert recorded.result.output == bare.stdout
    assert recorded.differences == []
    assert len(recorded.operations) > 100


def test_a_file_that_somebody_else_has_made(runner: Runner) -> None:
    """No creation of it is recorded, and none that must be exclusive succeeds."""

    def make() -> None:
        with open(runner.outside / "asked", "rb") as asked:
            asked.read()
        (runner.client.workspace / "theirs").write_bytes(b"not the job's")
        (runner.client.workspace / "link").symlink_to("theirs")
        with open(runner.outside / "made", "wb"):
            pass

    for name in ("asked", "made"):
        os.mkfifo(runner.outside / name)
    thread = threading.Thread(target=make)
    thread.start()
    outcome = runner.python(
        """
put(W + "/ours")
open(OUT + "/asked", "wb").close()
open(OUT + "/made", "rb").read()
raises(errno.EEXIST, os.open, W + "/theirs", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
raises(errno.ELOOP, os.open, W + "/link", os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY)
for name in ("theirs", "link"):
    file = os.open(f"{W}/{name}", os.O_CREAT | os.O_RDWR)
    assert os.read(file, 100) == b"not the job's"
    os.close(file)
put(W + "/ours")
"""
    )
    thread.join()
    assert outcome.result.exit_code == 0, outcome.result.error_output
    made = [one.path for one in outcome.operations if not one.error and _creates(one.effects)]
    assert made == [b"w/ours"]


def _creates(effects: tuple[Effect, ...]) -> bool:
    return any(isinstance(effect, Create) for effect in effects)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_who_has_become_somebody_else_is_kept_out(runner: Runner) -> None:
    runner.ok(
        """
os.mkdir("barred", 0o700); os.mkdir("barred/open"); os.chmod("barred/open", 0o777)
put(W + "/barred/open/mine"); put(W + "/barred/open/mine")
child = os.fork()
if not child:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    raises(errno.EACCES, os.open, W + "/barred/open/new", os.O_CREAT | os.O_WRONLY)
    raises(errno.EACCES, os.rename, W + "/barred/open/mine", W + "/barred/open/theirs")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_of_two_names_the_first_in_order_is_shown(recorder: Recorder) -> None:
    f = recorder.tree.node_at(b"d/f")
    d = recorder.tree.node_at(b"d")
    assert f is not None
    assert d is not None
    assert recorder.tree.path(f) == b"d/f"
    for name, shown in ((b"g", b"d/f"), (b"a", b"d/a")):
        recorder.tree.link(d, name, f)
        assert recorder.tree.path(f) == shown
    recorder.tree.unlink(d, b"a")
    assert recorder.tree.path(f) == b"d/f"


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """Of a directory that holds the directory ``d``, which holds ``e`` and the file ``f``."""
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "f").touch()
    return recorder_of(tmp_path)


def _is_certain(recorder: Recorder, path: str) -> bool:
    """Whether it is known what the path leads to; the directory is open, or will be."""
    directories = recorder.directories
    where = recorder.slot / path
    identity = identity_of(where.stat())
    if directories.get(identity) is None:
        directories.keep(identity, os.open(where, os.O_PATH))
    known = directories.at(os.fsencode(where))
    if known is not None:
        assert known.identity == identity == identity_of(os.fstat(known.descriptor))
    return known is not None


@pytest.mark.parametrize(
    ("change", "is_certain"),
    [
        (lambda d, f: SetMode(d, 0o755), True),
        (lambda d, f: SetMode(d, 0o600), False),
        (lambda d, f: SetMode(f, 0o600), True),
        (lambda d, f: SetOwner(d, 1, 1), False),
        (lambda d, f: SetOwner(f, 1, 1), True),
        (lambda d, f: SetAttribute(d, b"system.posix_acl_access", b""), False),
        (lambda d, f: SetAttribute(f, b"user.name", b""), True),
    ],
)
def test_where_rights_may_keep_somebody_out_it_is_looked(
    recorder: Recorder, change: Callable[[int, int], Effect], is_certain: bool
) -> None:
    assert _is_certain(recorder, "d/e")
    d, f = (recorder.tree.node_at(path) for path in (b"d", b"d/f"))
    assert d is not None
    assert f is not None
    recorder.record(Caller(os.getpid()), "changed", b"d", change(d, f))
    assert _is_certain(recorder, "d/e") == is_certain
    recorder.directories.close()


def test_a_directory_that_is_made_without_rights(recorder: Recorder) -> None:
    (recorder.slot / "d" / "barred").mkdir()
    d = recorder.tree.node_at(b"d")
    assert d is not None
    status = (recorder.slot / "d" / "barred").stat()
    node = recorder.tree.create(d, b"barred", status, is_directory=True)
    assert _is_certain(recorder, "d/barred")
    made = Create(d, b"barred", node, NodeKind.DIRECTORY, 0o600)
    recorder.record(Caller(os.getpid()), "mkdir", b"d/barred", made)
    assert not _is_certain(recorder, "d/barred")
    recorder.directories.close()


@pytest.mark.parametrize("mode", [0o755, 0o600])
def test_a_directory_that_was_there_before(tmp_path: Path, mode: int) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(mode)
    assert tree_of(tmp_path).is_passable == (mode == 0o755)


def test_nothing_is_certain_but_names_of_recorded_directories(recorder: Recorder) -> None:
    assert _is_certain(recorder, "d")
    assert _is_certain(recorder, "d/e")
    top = os.fsencode(recorder.slot)
    for path in (b"", b"/", b"/d/", b"//d", b"/d/.", b"/d/../d", b"/d/f", b"/none", b"d", b"-/d"):
        assert recorder.directories.at(top + path) is None, path
    assert recorder.directories.at(b"d") is None
    recorder.directories.close()


def test_paths_lead_where_they_lead_on_disk_whatever_moves(tmp_path: Path) -> None:
    for seed in range(3):
        top = tmp_path / str(seed)
        top.mkdir()
        chance = random.Random(seed)
        tree = tree_of(top)
        directories = Directories(tree, os.fsencode(top))
        seen: set[Path] = set()
        for number in range(150):
            there = sorted(top.rglob("*"))
            into, one = chance.choice([top, *there]), chance.choice([top, *there])
            name = chance.choice("abcdefg")
            if (into / name).exists():
                continue
            if len(there) < 30:
                (into / name).mkdir()
                status = (into / name).stat()
                tree.create(_node(tree, into, top), name.encode(), status, is_directory=True)
                assert directories.keep(identity_of(status), os.open(into / name, os.O_PATH))
            if one not in (into, *into.parents) and one.exists():
                source = _node(tree, one.parent, top), os.fsencode(one.name)
                name = str(number)
                os.rename(one, into / name)
                tree.rename(source, (_node(tree, into, top), name.encode()), exchange=False)
            seen.update(top.rglob("*"))
            for path in seen:
                known = directories.at(os.fsencode(path))
                assert (known is not None) == path.exists()
                assert known is None or known.identity == identity_of(path.stat())
        assert len(seen) > 100
        directories.close()


def _node(tree: TrackedTree, path: Path, top: Path) -> NodeId:
    node = ROOT if path == top else tree.node_at(os.fsencode(path.relative_to(top)))
    assert node is not None
    return node
