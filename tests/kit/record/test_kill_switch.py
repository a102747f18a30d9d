"""A run is killed when it has said a line so many times: at once, and every process of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.client import STAGE_FAULT, environment
from pytest_checkpoint.record.kill_switch import KilledAt, KillSwitch
from pytest_checkpoint.record.operations import Event, Truncate

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

LINE = "start render"
SAY = 'say() { echo "$1" >> "$CHECKPOINT_EVENTS"; }\n'


def killed_after(*writes: bytes, times: int = 1, before: bytes = b"") -> int | None:
    """After which write, from 1; None: after none."""
    switch = KillSwitch(None, LINE, times, before)
    for number, data in enumerate(writes, 1):
        try:
            switch.after(number, (Event(data),))
        except KilledAt as killed:
            return killed.step
    return None


@pytest.mark.parametrize(
    ("writes", "step"),
    [
        ((b"start fetch\n", b"start render\n"), 2),
        ((b"start render", b"\n"), 2),
        ((b"done fetch\nstart ren", b"der\ndone"), 2),
        ((b"start render\r\n",), 1),
        ((b"start render 2\n", b"restart render\n", b"start render"), None),
        ((b"done render\n",), None),
    ],
)
def test_it_fires_at_the_whole_line_and_no_other(
    writes: tuple[bytes, ...], step: int | None
) -> None:
    assert killed_after(*writes) == step


def test_it_counts() -> None:
    lines = [b"start render\n", b"fail render\n"] * 4
    assert killed_after(*lines, times=3) == 5
    assert killed_after(b"start render\nstart render\nstart render\n", times=2) == 1
    assert killed_after(*lines, times=5) is None


def test_a_line_that_an_earlier_run_left_unfinished() -> None:
    assert killed_after(b"render\n", before=b"start ") == 1
    assert killed_after(b"start render\n", before=b"start ") is None


def test_names_are_read_as_the_evidence_has_them() -> None:
    switch = KillSwitch(None, "start größe \\xff", 1)
    with pytest.raises(KilledAt):
        switch.after(3, (Event("start größe ".encode() + b"\xff\n"),))


def test_other_operations_are_no_lines() -> None:
    KillSwitch(None, LINE, 1).after(1, (Truncate(1, 0),))
    with pytest.raises(KilledAt):
        KillSwitch(7, LINE, 1).after(7, ())


def test_the_whole_tree_is_killed_before_the_writer_goes_on(runner: Runner) -> None:
    """A child of the job would go on for a minute, and the writer itself writes one file more."""
    outcome = runner.shell(
        SAY
        + 'sh -c "sleep 60; echo late > late" & say "start fetch"; say "start render"; echo > x',
        kill_after_line=LINE,
    )
    assert outcome.result.killed_at == len(outcome.operations) == 2
    assert (outcome.result.exit_code, outcome.result.signal) == (None, 9)
    assert outcome.events == b"start fetch\nstart render\n"
    assert outcome.differences == []
    assert outcome.result.wall_s < 30


def test_the_third_time_it_is_said(runner: Runner) -> None:
    outcome = runner.shell(
        SAY + 'for i in 1 2 3 4; do say "start render"; done; echo > x',
        kill_after_line=LINE,
        kill_after_times=3,
    )
    assert outcome.result.killed_at == 3
    assert outcome.events == b"start render\n" * 3


def test_a_line_that_never_comes_is_told(runner: Runner) -> None:
    outcome = runner.shell(SAY + 'say "start renderer"', kill_after_line=LINE)
    assert (outcome.result.killed_at, outcome.result.exit_code) == (None, 0)


def test_lines_of_an_earlier_run_do_not_count(runner: Runner) -> None:
    runner.shell(SAY + 'say "start render"')
    outcome = runner.shell(SAY + 'say "done render"', fresh=False, kill_after_line=LINE)
    assert (outcome.result.killed_at, outcome.result.exit_code) == (None, 0)


def test_a_stage_fault_of_the_users_own_reaches_nobody(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STAGE_FAULT, "raise:render:1")
    assert STAGE_FAULT not in environment(runner.client, keep_tmpdir=False)
