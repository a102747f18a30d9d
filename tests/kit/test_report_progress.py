"""Progress: what is written, and how often."""

from __future__ import annotations

import pytest

from pytest_checkpoint.report.progress import ShownProgress


class PaperScreen:
    """Keeps what is written; ``~`` marks a line that replaced the one before."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self.written: list[str] = []

    def line(self, text: str) -> None:
        self.written.append(text)

    def rewrite(self, text: str) -> None:
        self.written.append(f"~{text}")


class Clock:
    """Time as the test says."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def explore(progress: ShownProgress, clock: Clock, *, seconds_each: float) -> None:
    progress.phase("recording")
    progress.estimate("100 states, about 1 minute")
    for done in range(1, 101):
        clock.now_s += seconds_each
        progress.advance(done, 100)


def test_lines_about_every_ten_seconds_or_tenth(clock: Clock) -> None:
    screen = PaperScreen(live=False)

    explore(ShownProgress("etl", screen, clock=clock), clock, seconds_each=3)

    assert screen.written[:4] == [
        "etl: recording",
        "etl: 100 states, about 1 minute",
        "etl: 4 of 100 states explored",
        "etl: 8 of 100 states explored",
    ]
    assert len(screen.written) == 2 + 25


def test_fast_ones_are_not_noisy(clock: Clock) -> None:
    screen = PaperScreen(live=False)

    explore(ShownProgress("etl", screen, clock=clock), clock, seconds_each=0.01)

    assert screen.written == ["etl: recording", "etl: 100 states, about 1 minute"]


def test_brief_shows_the_estimate_alone(clock: Clock) -> None:
    screen = PaperScreen(live=False)

    explore(ShownProgress("etl", screen, brief=True, clock=clock), clock, seconds_each=30)

    assert screen.written == ["etl: 100 states, about 1 minute"]


def test_live_rewrites_a_line_a_few_times_a_second(clock: Clock) -> None:
    screen = PaperScreen(live=True)

    explore(ShownProgress("etl", screen, clock=clock), clock, seconds_each=0.125)

    assert screen.written[:3] == [
        "~etl: recording",
        "etl: 100 states, about 1 minute",
        "~etl: 2 of 100 states explored (2%)",
    ]
    assert len(screen.written) == 2 + 50
