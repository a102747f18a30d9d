"""A check of a state that was checked already is not made again, where that says all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.phases.known_checks import KnownChecks
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image


def state(content: bytes = b"", events: bytes = b"", mtime_ns: int = 0) -> State:
    file = File(mode=0o644, content=Content.of(content), mtime_ns=mtime_ns)
    return State(Image({ROOT: Directory(mode=0o700, entries={b"f": 1}), 1: file}), events)


WELL = Execution(exit_code=0, wall_s=1.0)


class Checks:
    """Counts them; each takes so long, and says its number."""

    def __init__(self, ended: Execution = WELL) -> None:
        self.made = 0
        self._ended = ended

    def __call__(self) -> Execution:
        self.made += 1
        return dataclasses.replace(self._ended, output=str(self.made))


def ask(known: KnownChecks, check: Checks, *states: State) -> list[str]:
    return [known.made(partial(_same, one), check, warm=True).output for one in states]


def _same(state: State) -> State:
    return state


def test_equal_states_are_checked_once() -> None:
    said = ask(KnownChecks(), Checks(), state(b"a"), state(b"b"), state(b"a", mtime_ns=5))
    assert said == ["1", "2", "1"]


def test_a_warm_check_stands_for_no_fresh_one() -> None:
    known, check = KnownChecks(), Checks()
    look = partial(_same, state())
    said = [known.made(look, check, warm=warm).output for warm in (True, False, True, False)]
    assert said == ["1", "2", "1", "2"]


def test_events_count() -> None:
    assert ask(KnownChecks(), Checks(), state(b"a"), state(b"a", b"done x\n")) == ["1", "2"]


@pytest.mark.parametrize(
    "ended",
    [
        Execution(exit_code=None, timed_out=True),
        Execution(exit_code=None, signal=9),
        Execution(exit_code=0, problem="lost"),
    ],
)
def test_what_did_not_end_by_itself_is_made_again(ended: Execution) -> None:
    assert ask(KnownChecks(), Checks(ended), state(), state()) == ["1", "2"]


@pytest.mark.parametrize("outside", [Result(reaches_out=True), Result(created_outside=("/x",))])
def test_a_job_that_keeps_something_elsewhere_is_checked_each_time(outside: Result) -> None:
    known, check = KnownChecks(), Checks()
    known.note(Result())
    assert ask(known, check, state(), state()) == ["1", "1"]
    known.note(outside)
    known.note(Result())
    assert ask(known, check, state(), state()) == ["2", "3"]


def test_looking_is_given_up_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock() -> Iterator[float]:
        now = 0.0
        while True:
            now += 1.0
            yield now

    ticks = clock()
    monkeypatch.setattr("pytest_checkpoint.phases.known_checks.time.monotonic", lambda: next(ticks))
    looks: list[State] = []

    def looking(content: bytes) -> Callable[[], State]:
        def look() -> State:
            looks.append(state(content))
            return looks[-1]

        return look

    known, check = KnownChecks(), Checks(Execution(exit_code=0, wall_s=0.5))
    for _ in range(40):
        known.made(looking(b"the same"), check, warm=True)
    assert len(looks) == 16
    assert check.made == 1 + 24
