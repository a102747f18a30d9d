"""Time that several kinds of work share."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from pytest_checkpoint.phases import shares
from pytest_checkpoint.phases.shares import do_fairly


class Clock:
    """Moves on when work is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.done: list[str] = []
        monkeypatch.setattr(shares, "time", self)

    def monotonic(self) -> float:
        return self.now_s

    def work(self, name: str, count: int, each_s: float = 1.0) -> Iterator[None]:
        for _ in range(count):
            self.now_s += each_s
            self.done.append(name)
            yield


def test_none_starves_another(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    do_fairly([clock.work("a", 100), clock.work("b", 100), clock.work("c", 100)], 30.0)
    assert {name: clock.done.count(name) for name in "abc"} == {"a": 10, "b": 10, "c": 10}


def test_what_one_does_not_need_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    do_fairly([clock.work("a", 100), clock.work("b", 2), clock.work("c", 100)], 30.0)
    assert clock.done.count("b") == 2
    assert len(clock.done) == 30
    assert clock.done.count("a") >= 10
    assert clock.done.count("c") >= 10


def test_a_piece_that_was_begun_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    do_fairly([clock.work("a", 9, 40.0), clock.work("b", 9)], 30.0)
    assert clock.done == ["a"]


def test_without_a_deadline_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    do_fairly([clock.work("a", 50), clock.work("b", 50)], inf)
    assert len(clock.done) == 100
