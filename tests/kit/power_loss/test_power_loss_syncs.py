"""What the sync of one file or directory says of names, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_checkpoint.record.operations import SetAttribute, SetOwner, SetTime
from pytest_checkpoint.states.power_loss.models import Model
from tests.kit.power_loss.programs import Program

LINUX, POSIX, EXT4 = Model.LINUX, Model.POSIX, Model.EXT4_ORDERED
Change = Callable[[Program], object]


def test_linux_persists_the_link_of_creation_and_the_directories_above() -> None:
    program = Program()
    program.mkdir("d")
    program.mkdir("other")
    program.mkdir("d/e")
    program.create("d/e/f")
    program.create("d/e/g")
    program.fsync("d/e/f")
    for found in program.trees(LINUX):
        assert found.keys() >= {"d/", "d/e/", "d/e/f"}
    assert {"d/": b"", "d/e/": b"", "d/e/f": b""} in program.trees(LINUX)
    assert {} in program.trees(POSIX)
    # Under ext4-ordered g is later than the last change of f.
    assert all("d/e/f" in found for found in program.trees(EXT4))
    assert not all("d/e/g" in found for found in program.trees(EXT4))


def test_linux_does_not_persist_a_rename_by_fsync_of_the_file() -> None:
    program = Program(s=b"old")
    program.create("t")
    program.write("t", b"new")
    program.rename("t", "s")
    program.fsync("s")
    assert program.trees(LINUX) == [{"s": b"new"}, {"s": b"old", "t": b"new"}]
    assert program.trees(EXT4) == [{"s": b"new"}]
    assert {"s": b"old"} in program.trees(POSIX)


def test_a_hard_link_is_not_the_link_of_creation() -> None:
    program = Program(f=b"old")
    program.link("f", "g")
    program.fsync("f")
    assert {"f": b"old"} in program.trees(LINUX)
    assert {"f": b"old"} not in program.trees(EXT4)


@pytest.mark.parametrize("linked_first", [True, False])
def test_an_unnamed_file_was_created_under_its_first_link(linked_first: bool) -> None:
    program = Program()
    program.create_unnamed("#")
    program.write("#", b"new")
    if linked_first:
        program.link("#", "f")
    program.fsync("#")
    if not linked_first:
        program.link("#", "f")
    expected = [{"f": b"new"}] if linked_first else [{"f": b"new"}, {}]
    assert program.trees(LINUX) == expected
    assert program.trees(EXT4) == expected
    assert program.trees(POSIX) == [{"f": b"new"}, {}]


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
def test_a_file_linked_after_its_last_write_has_its_name_only_by_fsync(call: str) -> None:
    """A link changes no size, which is all that fdatasync asks for."""
    program = Program()
    program.create("g")
    program.sync()
    program.create_unnamed("#")
    program.write("#", b"new")
    program.link("#", "f")
    getattr(program, call)("#")
    for model in (LINUX, EXT4):
        assert ({"g": b""} in program.trees(model)) is (call == "fdatasync")
    program.write("#", b"!")
    program.fdatasync("#")
    for model in (LINUX, EXT4):
        assert program.trees(model) == [{"f": b"new!", "g": b""}]
    assert {"g": b""} in program.trees(POSIX)


CHANGES = [
    pytest.param(lambda p: p.write("f", b"x", 0), False, False, id="overwritten"),
    pytest.param(lambda p: p.write("f", b"x"), True, True, id="grown"),
    pytest.param(lambda p: p.truncate("f", 1), True, True, id="truncated"),
    pytest.param(lambda p: p.allocate("f", 0, 9), True, True, id="allocated"),
    pytest.param(lambda p: p.write("f", b"x", 0, durable=True), False, False, id="O_DSYNC over"),
    pytest.param(lambda p: p.chmod("f", 0o640), True, False, id="mode"),
    pytest.param(lambda p: p.apply("f", SetOwner(p.nodes["f"], 1, 1)), True, False, id="owner"),
    pytest.param(lambda p: p.apply("f", SetTime(p.nodes["f"], 1)), True, False, id="times"),
    pytest.param(
        lambda p: p.apply("f", SetAttribute(p.nodes["f"], b"user.a", b"1")), True, False, id="xattr"
    ),
    pytest.param(lambda p: p.link("f", "linked"), True, False, id="linked"),
    pytest.param(lambda p: p.rename("f", "moved"), True, False, id="renamed"),
    pytest.param(lambda p: p.rename("f", "h"), True, False, id="renamed over"),
    pytest.param(lambda p: p.unlink("f2"), True, False, id="one of two links removed"),
    pytest.param(lambda p: p.rename("h", "f2"), True, False, id="one of two links replaced"),
    pytest.param(lambda p: p.rename("h", "f2", exchange=True), True, False, id="exchanged"),
]


def _two_files() -> Program:
    program = Program(f=b"old", h=b"other")
    program.link("f", "f2")
    program.sync()
    return program


@pytest.mark.parametrize(("change", "by_fsync", "by_fdatasync"), CHANGES)
@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_ext4_persists_the_names_before_the_last_change_of_the_file(
    call: str, change: Change, by_fsync: bool, by_fdatasync: bool
) -> None:
    program = _two_files()
    number = program.nodes["f"]
    program.create("before")
    change(program)
    program.create("after")
    name = next(path for path, node in program.nodes.items() if node == number)
    getattr(program, call)(name)
    persists = by_fsync if call == "fsync" else by_fdatasync
    trees = program.trees(EXT4)
    assert all("before" in found for found in trees) is persists
    assert not all("after" in found for found in trees)
    assert not all("before" in found for found in program.trees(LINUX))


@pytest.mark.parametrize(("change", "by_fsync", "by_fdatasync"), CHANGES)
def test_ext4_persists_nothing_new_by_the_sync_of_a_file_that_has_not_changed(
    change: Change, by_fsync: bool, by_fdatasync: bool
) -> None:
    program = _two_files()
    number = program.nodes["f"]
    change(program)
    name = next(path for path, node in program.nodes.items() if node == number)
    program.fsync(name)
    program.create("after")
    program.fsync(name)
    program.fdatasync(name)
    assert not all("after" in found for found in program.trees(EXT4))


def test_the_time_that_a_write_leaves_is_no_change_of_its_own() -> None:
    """The recording holds it beside each write; it may be the time that was there before."""
    program = Program(f=b"old")
    program.create("before")
    program.write("f", b"x", 0, time_ns=7)
    program.fsync("f")
    assert not all("before" in found for found in program.trees(EXT4))


def test_ext4_persists_names_of_all_directories_together() -> None:
    program = Program(f=b"1", g=b"2")
    program.mkdir("d")
    program.rename("g", "d/g")
    program.write("f", b"+")
    program.fsync("f")
    assert program.trees(EXT4) == [{"d/": b"", "d/g": b"2", "f": b"1+"}]
    program.unlink("f")
    assert len(program.trees(EXT4)) == 2


@pytest.mark.parametrize(
    ("change", "persists"),
    [
        pytest.param(lambda p: p.create("d/a"), True, id="a name in it"),
        pytest.param(lambda p: p.unlink("d/b"), True, id="a name gone from it"),
        pytest.param(lambda p: p.rename("d/b", "b"), True, id="a name moved out of it"),
        pytest.param(lambda p: p.rename("d", "e"), True, id="its own name"),
        pytest.param(lambda p: p.chmod("d", 0o750), True, id="its mode"),
        pytest.param(lambda p: p.write("d/b", b"+"), False, id="the data of a file in it"),
        pytest.param(lambda p: p.rename("f", "g"), False, id="a name elsewhere"),
    ],
)
@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_ext4_persists_the_names_before_the_last_change_of_the_directory(
    call: str, change: Change, persists: bool
) -> None:
    program = Program(f=b"1")
    program.mkdir("d")
    program.create("d/b")
    program.sync()
    number = program.nodes["d"]
    program.create("before")
    change(program)
    program.create("after")
    getattr(program, call)(next(path for path, node in program.nodes.items() if node == number))
    trees = program.trees(EXT4)
    assert all("before" in found for found in trees) is persists
    assert not all("after" in found for found in trees)


@pytest.mark.parametrize(("model", "own"), [(LINUX, False), (POSIX, False), (EXT4, True)])
def test_the_sync_of_a_new_directory_persists_its_own_name_under_ext4_only(
    model: Model, own: bool
) -> None:
    program = Program()
    program.mkdir("d")
    program.fsync("d")
    assert ({} not in program.trees(model)) is own


def test_fdatasync_persists_the_link_of_a_new_file_once() -> None:
    program = Program()
    program.create("f")
    program.fdatasync("f")
    assert program.trees(LINUX) == [{"f": b""}]
    program.unlink("f")
    program.create("f")
    assert {"f": b""} in program.trees(LINUX)
    assert {} in program.trees(LINUX)


@pytest.mark.parametrize(("model", "kept"), [(LINUX, True), (EXT4, True), (POSIX, False)])
def test_a_synchronous_write_says_of_names_what_fdatasync_says(model: Model, kept: bool) -> None:
    program = Program()
    program.create("f")
    program.write("f", b"x", durable=True)
    assert ({} not in program.trees(model)) is kept
