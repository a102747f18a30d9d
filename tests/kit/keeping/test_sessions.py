"""Which session is the one to continue."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.keeping.places import KEPT
from pytest_checkpoint.keeping.sessions import KeptSession


def begun(rootdir: Path, number: str, *, at_s: int = 0, judges: bool = True) -> KeptSession:
    session = KeptSession(rootdir, number)
    assert session.begin()
    os.utime(rootdir / KEPT / ".sessions" / number, (at_s, at_s))
    if judges:
        folder = rootdir / KEPT / f"subject of {number}"
        folder.mkdir()
        KeptLogbook(folder).begin(Begun(session=number, subject="job", definition={}))
    return session


def test_the_latest_that_was_interrupted(tmp_path: Path) -> None:
    for number, at_s in (("a", 100), ("b", 300), ("c", 200)):
        begun(tmp_path, number, at_s=at_s).pause()

    session = KeptSession.interrupted(tmp_path)

    assert session.id == "b"
    assert session.began.startswith("1970-01-01 ")
    session.end()
    assert KeptSession.interrupted(tmp_path).id == "c"


def test_paused_there_is_something_to_continue_only_if_something_was_judged(tmp_path: Path) -> None:
    sessions = [begun(tmp_path, "a"), begun(tmp_path, "b", judges=False)]
    for session in sessions:
        session.pause()
    assert [session.is_paused for session in sessions] == [True, False]


def test_left_it_is_still_the_one_to_continue(tmp_path: Path) -> None:
    begun(tmp_path, "a").pause()
    for _ in range(2):
        session = KeptSession.interrupted(tmp_path)
        assert session.id == "a"
        session.leave()
        assert not session.is_paused


def test_one_that_goes_on_elsewhere_is_left_alone(tmp_path: Path) -> None:
    begun(tmp_path, "old", at_s=1).pause()
    running = begun(tmp_path, "running", at_s=2)

    assert KeptSession.interrupted(tmp_path).id == "old"
    assert not KeptSession(tmp_path, "running").begin()
    assert (tmp_path / KEPT / ".sessions" / "running").exists()
    running.end()


def test_nothing_to_continue(tmp_path: Path) -> None:
    def refused() -> None:
        with pytest.raises(UserError, match="there is nothing to continue"):
            KeptSession.interrupted(tmp_path)

    refused()
    begun(tmp_path, "ended").end()
    refused()
    begun(tmp_path, "early", judges=False).pause()
    refused()
    assert not list((tmp_path / KEPT / ".sessions").iterdir()), "nobody asks for it again"


def test_it_begins_once(tmp_path: Path) -> None:
    session = KeptSession(tmp_path)
    assert not (tmp_path / KEPT).exists(), "a session in which nothing is judged leaves nothing"
    assert session.begin()
    assert session.begin()
    session.end()


def test_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / KEPT).mkdir()
    (tmp_path / KEPT / ".sessions").touch()
    with pytest.raises(UserError, match=r"cannot be kept in .*\.sessions"):
        KeptSession(tmp_path).begin()
