"""When trees are equal, and how a difference is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.compare import Ignored, differences, key, walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import (
    ROOT,
    Directory,
    File,
    Image,
    Node,
    Special,
    Symlink,
    printable,
)


def _file(data: bytes = b"", mode: int = 0o644, mtime_ns: int = 0) -> File:
    return File(mode=mode, content=Content.of(data), mtime_ns=mtime_ns)


def _image(entries: Mapping[bytes, int], nodes: Mapping[int, Node], mode: int = 0o700) -> Image:
    return Image({ROOT: Directory(mode=mode, entries=entries), **nodes})


_BASE = _image(
    {b"a": 1, b"d": 2, b"l": 3, b"p": 4},
    {
        1: _file(b"data"),
        2: Directory(mode=0o755, entries={b"a": 1, b"b": 5}),
        3: Symlink(mode=0o777, target=b"a"),
        4: Special(mode=0o600, kind="fifo"),
        5: _file(b"data"),
    },
)


def test_numbers_times_owners_and_what_is_unreachable_do_not_count() -> None:
    other = _image(
        {b"p": 40, b"l": 30, b"d": 20, b"a": 10},
        {
            10: _file(b"data", mtime_ns=99),
            20: Directory(mode=0o755, entries={b"b": 50, b"a": 10}, owner=(5, 5)),
            30: Symlink(mode=0o755, target=b"a"),
            40: Special(mode=0o600, kind="fifo"),
            50: _file(b"data"),
            60: _file(b"without a name"),
        },
    )
    assert key(other) == key(_BASE)
    assert differences(_BASE, other) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({1: _file(b"date")}, ["a: differs from byte 3 of 4", "d/a: differs from byte 3 of 4"]),
        ({5: _file(b"")}, ["d/b: 4 bytes expected, 0 found"]),
        ({5: _file(b"data", 0o600)}, ["d/b: mode 0644 expected, 0600 found"]),
        ({3: Symlink(mode=0o777, target=b"d")}, ["l: a link to a expected, to d found"]),
        ({4: Special(mode=0o600, kind="socket")}, ["p: a fifo expected, a socket found"]),
        (
            {2: Directory(mode=0o755, entries={b"a": 1})},
            ["d/b: a file expected, nothing found"],
        ),
        (
            {2: Directory(mode=0o755, entries={b"a": 1, b"b": 5, b"c\n": 4})},
            [
                "d/c\\n: nothing expected, a fifo found",
            ],
        ),
        (
            {2: Directory(mode=0o755, entries={b"a": 5, b"b": 5})},
            [
                "a: one inode with d/a expected, an inode of its own found",
                "d/a: one inode with a expected, one inode with d/b found",
                "d/b: an inode of its own expected, one inode with d/a found",
            ],
        ),
        (
            {2: Directory(mode=0o755, entries={b"a": 1, b"b": 1})},
            [
                "a: one inode with d/a expected, one inode with d/a, d/b found",
                "d/a: one inode with a expected, one inode with a, d/b found",
                "d/b: an inode of its own expected, one inode with a, d/a found",
            ],
        ),
    ],
)
def test_a_difference_changes_the_key_and_is_told(
    changed: Mapping[int, Node], told: list[str]
) -> None:
    other = Image({**_BASE.nodes, **changed})
    assert differences(_BASE, other) == told
    assert key(other) != key(_BASE)


def test_the_root_counts() -> None:
    other = _image({}, {}, mode=0o755)
    assert differences(_image({}, {}), other) == [".: mode 0700 expected, 0755 found"]
    assert key(other) != key(_image({}, {}))


@pytest.mark.parametrize(
    ("ignored", "told"),
    [
        ({}, ["m: differs from byte 5 of 2000010"]),
        ({1: True}, []),
        ({1: [range(5, 6)]}, ["m: differs from byte 2000000 of 2000010"]),
        ({1: [range(5, 6), range(1_999_999, 3_000_000)]}, []),
        ({2: True}, ["m: differs from byte 5 of 2000010"]),
    ],
)
def test_mapped_ranges_are_left_out(ignored: Ignored, told: list[str]) -> None:
    data = bytes(2_000_010)
    other = Content.of(data).write(5, b"x").write(2_000_000, b"y")
    expected = _image({b"m": 1}, {1: _file(data)})
    found = _image({b"m": 8}, {8: File(mode=0o644, content=other)})
    assert differences(expected, found, ignore=ignored) == told


def test_the_size_of_an_ignored_file_counts() -> None:
    expected = _image({b"m": 1}, {1: _file(b"12")})
    found = _image({b"m": 1}, {1: _file(b"123")})
    assert differences(expected, found, ignore={1: True}) == ["m: 2 bytes expected, 3 found"]


def test_walk_is_sorted_and_names_every_link() -> None:
    walked = [(path, number) for path, number, _ in walk(_BASE)]
    assert walked == [
        (b"", 0),
        (b"a", 1),
        (b"d", 2),
        (b"d/a", 1),
        (b"d/b", 5),
        (b"l", 3),
        (b"p", 4),
    ]


def test_a_name_of_nothing_is_a_sentence() -> None:
    with pytest.raises(HarnessError, match="names the node 9 as 'x', but does not hold it"):
        key(_image({b"x": 9}, {}))


def test_odd_names_are_shown_safely() -> None:
    assert printable("é→ x".encode()) == "é→ x"
    assert printable(b"\x1b[31m\n\xff\\\xc2\x9b") == "\\x1b[31m\\n\\xff\\\\\\x9b"
