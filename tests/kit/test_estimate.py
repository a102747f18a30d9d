"""What is ahead, and what all of it would take."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from checkpoint_contracts.evidence import Coverage, CrashPoint, Fault
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.estimate import all_would_take, estimate

OPTIONS = Options(rootdir=Path())


def coverage(explored: int, unique: int) -> dict[Fault, Coverage]:
    return {
        Fault.KILL: Coverage(derived=50, unique=50, explored=50),
        Fault.TORN: Coverage(derived=unique, unique=unique, explored=explored),
    }


def test_what_was_left_out_is_told_with_the_options_that_would_do() -> None:
    note = (
        "100 of 2000 states were explored; all of them take about 40.0 minutes: "
        "--checkpoint-time-budget 48m --checkpoint-max-states 2000"
    )
    assert all_would_take(coverage(50, 1950), 120.0, OPTIONS) == (note,)


def test_nothing_is_told_where_all_was_explored_or_none() -> None:
    assert all_would_take(coverage(1950, 1950), 120.0, OPTIONS) == ()
    assert all_would_take({}, 0.0, OPTIONS) == ()
    whole = dataclasses.replace(OPTIONS, exhaustive=True)
    assert all_would_take(coverage(50, 1950), 120.0, whole) == ()


def test_states_behind_a_known_hang_are_no_matter_of_time() -> None:
    point = CrashPoint(
        fault=Fault.TORN,
        step=1,
        variant="torn-1",
        operation="write a",
        signature="write a",
        total_steps=1,
    )
    hanging = Coverage(derived=9, unique=9, explored=2, known_hangs=(point,))
    assert all_would_take({Fault.TORN: hanging}, 60.0, OPTIONS) == ()


@pytest.mark.parametrize(
    ("count", "one_s", "text"),
    [
        (214, 0.1, "214 states, about 21 s"),
        (1, 3.0, "1 state, about 3 s"),
        (
            2000,
            0.38,
            "2000 states, about 12.7 minutes, cut off after 2.0 minutes (--checkpoint-time-budget)",
        ),
    ],
)
def test_what_is_ahead(count: int, one_s: float, text: str) -> None:
    assert estimate(count, "state", one_s, OPTIONS) == text
