"""Which object a marker stands for is told by what names what, and never guessed."""

from __future__ import annotations

import doctest

import pytest

from pytest_checkpoint.phases.store import links
from pytest_checkpoint.phases.store.links import Marker, holds, learn

KEYS = ("run/part-1.bin", "run/part-2.bin", "run/part-12.bin")


def linked(name: str, content: bytes = b"", keys: tuple[str, ...] = KEYS) -> str | None:
    found, unlinked = learn([Marker(name=name, content=content)], keys)
    assert bool(found) != bool(unlinked)
    return found[0].key if found else None


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("done/x", b'{"key": "run/part-2.bin", "size": 1}', "run/part-2.bin"),
        ("done/x", b"s3://bucket/run/part-12.bin\n", "run/part-12.bin"),
        ("done/part-1.bin.ok", b"", "run/part-1.bin"),
        (".done_part-12", b"", "run/part-12.bin"),
        ("done/part-2", b"12", "run/part-2.bin"),
        ("x.marker", b"part-2.bin 20 bytes", "run/part-2.bin"),
        ("x.marker", b"part-2 is done", "run/part-2.bin"),
    ],
)
def test_one_names_the_other(name: str, content: bytes, key: str) -> None:
    assert linked(name, content) == key


def test_the_key_names_the_marker() -> None:
    assert linked("done/ab12", keys=("run/ab12-of-2.bin", "run/cd34-of-2.bin")) is not None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest", b"run/part-1.bin\nrun/part-2.bin\n"),
        ("done", b""),
        ("1.ok", b""),  # a part of many names
        ("x", b"\xff\xfe"),
    ],
)
def test_of_more_than_one_or_none_nothing_is_guessed(name: str, content: bytes) -> None:
    assert linked(name, content) is None


def test_a_key_within_another() -> None:
    keys = ("a.bin", "run/a.bin")
    assert linked("x", b"run/a.bin", keys) == "run/a.bin"


def test_what_its_content_says_has_to_stand_there_yet() -> None:
    (by_content,), _ = learn([Marker(name="x", content=b"run/part-1.bin")], KEYS)
    assert by_content.stands_by(b"at run/part-1.bin")
    assert not by_content.stands_by(b"")
    (by_name,), _ = learn([Marker(name="part-1.ok", content=b"")], KEYS)
    assert by_name.stands_by(b"")


def test_a_word_by_itself() -> None:
    assert holds("a-1", "1")
    assert not holds("a-12", "1")
    assert holds("12 and 1", "1")
    assert not holds("x", "")


def test_examples() -> None:
    assert doctest.testmod(links).failed == 0
