"""Directories stay open in the supervisor; what a path means is asked at each call."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_checkpoint.record.directories import Directories
from pytest_checkpoint.record.place import Place
from pytest_checkpoint.record.tracked import TrackedTree, identity_of
from pytest_checkpoint.tree.image import ROOT, NodeId
from tests.kit.record.recorders import tree_of

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner


def test_a_name_may_mean_another_directory_at_the_next_call(runner: Runner) -> None:
    """Moved aside, exchanged, reached by a link that changes, by ``..`` and by a descriptor."""
    outcome = runner.ok("""
os.mkdir("a"); os.mkdir("b"); os.mkdir("c")
put("a/1"); put("b/1")
os.rename("a", "old"); os.rename("b", "a"); put("a/2"); put("old/2")
os.rename("a", "b"); os.rename("old", "a"); put("a/3"); put("b/3")
os.symlink("a", "link"); put("link/4")
os.symlink("b", "other"); os.rename("other", "link"); put("link/5")
os.chdir("a"); put("6"); put("../c/6"); put("./../c/7")
os.rename(W + "/a", W + "/c/deep"); put("8"); put("../9")
handle = os.open(W + "/b", os.O_RDONLY)
os.rename(W + "/b", W + "/c/wide")
os.close(os.open("10", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
put(W + "/link-file"); os.symlink(W + "/link-file", W + "/c/to"); put(W + "/c/to", b"through")
os.chdir(W)
os.mkdir("empty"); put("c/11"); os.mkdir("c/full"); put("c/full/12")
os.rename("empty", "c/none")
""")
    names = {os.path.basename(one.path) for one in outcome.operations if one.call == "openat"}
    assert {b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"10", b"11", b"12"} <= names
    paths = {one.path for one in outcome.operations}
    assert {b"w/b/5", b"w/c/deep/8", b"w/c/9", b"w/c/wide/10", b"w/link-file"} <= paths


def test_a_directory_that_has_gone_is_let_go_of(runner: Runner) -> None:
    """By rmdir, by a rename over it, with all below it to elsewhere: or its room stays taken."""
    runner.ok("""
def held():
    folder = f"/proc/{os.getppid()}/fd"
    found = []
    for number in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{number}"))
        except FileNotFoundError:
            continue
    return [path for path in found if path.startswith((W + "/", OUT + "/"))]
for name in ("a", "b", "c", "d", "d/e"):
    os.mkdir(name); put(name + "/x"); os.unlink(name + "/x")
assert len(held()) == 5, held()
os.rmdir("a")
os.rename("b", "c")
os.rename("d", OUT + "/d")
assert held() == [W + "/c"], held()
os.rmdir(OUT + "/d/e"); os.rmdir(OUT + "/d")
os.rmdir("c"); os.mkdir("c"); put("c/x")
assert held() == [W + "/c"], held()
""")


def test_more_directories_than_are_kept(runner: Runner) -> None:
    runner.ok("""
for number in range(100):
    os.mkdir(str(number)); put(f"{number}/x")
for number in range(100):
    os.rename(f"{number}/x", f"{number}/y"); os.unlink(f"{number}/y"); os.rmdir(str(number))
""")


def test_who_keeps_a_descriptor_closes_it(tmp_path: Path) -> None:
    def open_now() -> set[str]:
        return set(os.listdir("/proc/self/fd"))

    before = open_now()
    directories = Directories(tree_of(tmp_path), os.fsencode(tmp_path))
    first, second = (
        Place(os.open(tmp_path, os.O_PATH), b"x", as_directory=False) for _ in range(2)
    )
    first.keep(directories)
    second.keep(directories)  # there is one already
    first.close()
    second.close()
    assert directories.get(first.identity) == first.directory
    assert os.fstat(first.directory).st_ino == tmp_path.stat().st_ino
    directories.drop(first.identity)
    directories.drop(first.identity)
    assert directories.get(first.identity) is None
    assert open_now() == before


def _trees(folder: Path, steps: int, seed: int) -> Iterator[tuple[TrackedTree, Path]]:
    """A tree and the directory that it follows, after each of some random moves."""
    chance = random.Random(seed)
    tree = tree_of(folder)
    numbers = itertools.count()
    for _ in range(steps):
        names = [path for path in sorted(folder.rglob("*")) if not path.is_symlink()]
        folders = [folder, *(path for path in names if path.is_dir())]
        into, name = chance.choice(folders), os.fsencode(str(next(numbers)))
        parent = _node(tree, folder, into)
        deed = chance.choice(("mkdir", "create", "link", "move", "move", "exchange", "remove"))
        one = chance.choice(names) if names else folder
        if deed in ("mkdir", "create"):
            target = into / os.fsdecode(name)
            target.mkdir() if deed == "mkdir" else target.touch()
            tree.create(parent, name, target.stat(), is_directory=deed == "mkdir")
        elif deed == "link" and one.is_file():
            os.link(one, into / os.fsdecode(name))
            tree.link(parent, name, _node(tree, folder, one))
        elif deed == "move" and one != folder and one not in (into, *into.parents):
            old = _node(tree, folder, one.parent), os.fsencode(one.name)
            os.rename(one, into / os.fsdecode(name))
            tree.rename(old, (parent, name), exchange=False)
        elif deed == "exchange" and one.is_file() and len(names) > 1:
            other = chance.choice([path for path in names if path not in one.parents])
            ends = [(_node(tree, folder, x.parent), os.fsencode(x.name)) for x in (one, other)]
            if not os.path.samefile(one, other):
                for source, to in ((one, folder / "aside"), (other, one)):
                    os.rename(source, to)
                os.rename(folder / "aside", other)
                tree.rename(ends[0], ends[1], exchange=True)
        elif deed == "remove" and one.is_file():
            one.unlink()
            tree.unlink(_node(tree, folder, one.parent), os.fsencode(one.name))
        yield tree, folder


def _node(tree: TrackedTree, folder: Path, path: Path) -> NodeId:
    relative = os.fsencode(path.relative_to(folder))
    node = ROOT if relative == b"." else tree.node_at(relative)
    assert node is not None
    return node


def test_paths_are_those_on_disk_whatever_moves(tmp_path: Path) -> None:
    checked = 0
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for tree, top in _trees(folder, 60, seed):
            for path in top.rglob("*"):
                node = _node(tree, top, path)
                assert identity_of(path.stat()) == tree.identity(node)
                shown = top / os.fsdecode(tree.path(node))
                assert shown == path or (path.is_file() and os.path.samefile(shown, path))
                checked += 1
    assert checked > 1000
