"""Room that comes back: when, to whom it shows, and what was refused until then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.room.lull import Lull
from tests.kit.record.rooms import start

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

WAITS = """
import threading, time
until = time.monotonic() + 20
def room():
    told = os.statvfs("s")
    return told.f_bavail > 2 and (told.f_favail > 2 or not told.f_files)
print(room())
while not room() and time.monotonic() < until:
    threading.Event().wait(0.01)
print(room())
"""
TRIES = """
import errno
refused = 0
file = os.open("s/a", os.O_WRONLY | os.O_CREAT)
left = b"x" * 3 * 4096
while left:
    try:
        left = left[os.write(file, left) :]
    except OSError as error:
        assert error.errno == errno.ENOSPC
        refused += 1
print(refused > 3)
"""


class Clock:
    """Seconds, as they are set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lull_at(*moments: tuple[float, Callable[[Lull], None]]) -> tuple[Lull, Clock]:
    """One of two seconds, with something done to it at each of these."""
    clock = Clock()
    lull = Lull(2.0, clock)
    for moment, done in moments:
        clock.now = 100.0 + moment
        done(lull)
    return lull, clock


def refused(lull: Lull) -> None:
    lull.refused("write", b"w/s/batch-7")


def test_room_comes_back_after_the_first_refusal_whatever_comes_then() -> None:
    lull, clock = lull_at((1.0, refused), (1.5, Lull.changed), (2.5, refused), (2.9, Lull.changed))
    assert (lull.is_over(), lull.over_s) == (False, None)
    clock.now = 103.0
    assert (lull.is_over(), lull.over_s) == (True, 2.0)
    clock.now = 110.0
    assert (lull.is_over(), lull.over_s) == (True, 2.0)


def test_where_nothing_is_refused_it_comes_after_the_last_change() -> None:
    lull, clock = lull_at((1.0, Lull.changed), (2.5, Lull.changed))
    clock.now = 104.4
    assert not lull.is_over()
    clock.now = 104.5
    assert (lull.is_over(), lull.over_s) == (True, 4.5)


def test_without_a_time_it_never_comes() -> None:
    lull = Lull(None, lambda: 1e9)
    refused(lull)
    assert not lull.is_over()


def test_what_was_refused_most_often() -> None:
    lull, _ = lull_at((0.0, refused), (0.5, refused))
    lull.refused("openat", b"w/s/batch-7")
    lull.refused("write", b"w/s/batch-8")  # called so by chance: the same as the other
    worst = lull.worst
    assert worst is not None
    assert (worst.call, worst.count, worst.within_s) == ("write", 3, 0.5)
    assert Lull(1.0).worst is None


def ran(runner: Runner, source: str, room: Room) -> Result:
    def before() -> None:
        (runner.client.workspace / "s").mkdir()

    result = start(runner, room, source, before=before)
    assert result.exit_code == 0, result.error_output
    return result


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("limit", [{"blocks": 1}, {"inodes": 1}])
def test_who_waits_sees_it_come(runner: Runner, limit: dict[str, int], *, real: bool) -> None:
    room = Room(under="s", again_after_s=0.1, real=real, **limit)
    result = ran(runner, WAITS, room)
    assert result.output.splitlines() == ["False", "True"]
    assert result.room_again_s is not None
    assert (result.refused, result.room_again_s >= 0.1) == (None, True)


@pytest.mark.parametrize("real", [False, True])
def test_who_tries_again_and_again_is_let_in_and_counted(runner: Runner, *, real: bool) -> None:
    result = ran(runner, TRIES, Room(blocks=1, under="s", again_after_s=0.1, real=real))
    assert result.output == "True\n"
    assert result.refused is not None
    call, path, count, within_s = result.refused
    assert (call, path, count > 3) == ("write", "s/a", True)
    assert within_s < 30
