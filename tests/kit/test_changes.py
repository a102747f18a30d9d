"""What changed between two trees, sorted into outputs and others."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_checkpoint.phases.changes import changes
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, Special, Symlink


def file(data: bytes, mode: int = 0o644, mtime_ns: int = 0) -> File:
    return File(mode=mode, mtime_ns=mtime_ns, content=Content.of(data))


def tree(nodes: Mapping[bytes, Node]) -> Image:
    """A workspace that holds these names, and a TMPDIR beside it."""
    numbers = {name: number for number, name in enumerate(nodes, start=3)}
    return Image(
        {
            ROOT: Directory(mode=0o755, entries={b"w": 1, b"t": 2}),
            1: Directory(mode=0o700, entries=numbers),
            2: Directory(mode=0o700, entries={}),
            **{numbers[name]: node for name, node in nodes.items()},
        }
    )


OLD = {b"report": file(b"twelve bytes"), b"log": file(b"x")}


def test_nothing_has_changed() -> None:
    assert changes(tree(OLD), tree(OLD), ["**"]) == ((), ())
    touched = {**OLD, b"report": file(b"twelve bytes", mtime_ns=7)}
    assert changes(tree(OLD), tree(touched), ["**"]) == ((), ())


def test_outputs_and_others_are_told_apart() -> None:
    new = {b"report": file(b"twelve bYtes and two"), b"log": file(b"xy")}
    assert changes(tree(OLD), tree(new), ["rep*"]) == (
        ("report: 12 bytes before, 20 after, differs from byte 8 on",),
        ("log: 1 bytes before, 2 after, differs from byte 1 on",),
    )


def test_what_is_ephemeral_is_left_out() -> None:
    new = {b"report": file(b"?"), b"log": file(b"xy")}
    assert changes(tree(OLD), tree(new), ["**"], ["log", "rep*"]) == ((), ())


def test_what_lies_in_tmpdir_is_left_out() -> None:
    new = tree(OLD)
    nodes = {**new.nodes, 2: Directory(mode=0o700, entries={b"left": 9}), 9: file(b"over")}
    assert changes(tree(OLD), Image(nodes), ["**"]) == ((), ())


def test_every_kind_of_change_is_told() -> None:
    old: dict[bytes, Node] = {
        b"bytes": file(b"abc"),
        b"gone": file(b"abc"),
        b"link": Symlink(mode=0o777, target=b"one"),
        b"mode": file(b"abc", 0o600),
        b"turned": file(b"abc"),
        b"cut": file(b"abc"),
        b"pipe": Special(mode=0o600, kind="FIFO"),
    }
    new: dict[bytes, Node] = {
        b"bytes": file(b"aXc"),
        b"came\n": file(b""),
        b"link": Symlink(mode=0o777, target=b"two"),
        b"mode": file(b"abc", 0o644),
        b"turned": Directory(mode=0o755, entries={}),
        b"cut": file(b"ab"),
        b"pipe": Special(mode=0o600, kind="socket"),
    }
    assert changes(tree(old), tree(new), ["*"]).outputs == (
        "bytes: 3 bytes, differs from byte 1 on",
        "came\\n: a file of 0 bytes that was not there before",
        "cut: 3 bytes before, 2 after, differs from byte 2 on",
        "gone: a file of 3 bytes before, gone after",
        "link: a link to one before, to two after",
        "mode: mode 0600 before, 0644 after",
        "pipe: a FIFO before, a socket after",
        "turned: a file of 3 bytes before, a directory after",
    )


def test_a_directory_is_no_output() -> None:
    new = {**OLD, b"new": Directory(mode=0o755, entries={})}
    assert changes(tree(OLD), tree(new), ["**"]) == (
        (),
        ("new: a directory that was not there before",),
    )


def test_a_difference_far_inside_is_found() -> None:
    data = bytearray(3 << 20)
    old = {b"large": file(bytes(data))}
    data[(2 << 20) + 5] = 1
    new = {b"large": file(bytes(data))}
    assert changes(tree(old), tree(new), ["*"]).outputs == (
        f"large: {3 << 20} bytes, differs from byte {(2 << 20) + 5} on",
    )
