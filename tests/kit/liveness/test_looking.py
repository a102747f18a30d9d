"""The program that looks at a heartbeat file, and how late the kit itself is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.liveness import look_program
from pytest_checkpoint.phases.liveness.asking import Bounds
from pytest_checkpoint.phases.liveness.load import loaded
from pytest_checkpoint.phases.liveness.planned import KINDS
from pytest_checkpoint.phases.liveness.ticker import Ticker
from pytest_checkpoint.subject import HeartbeatSource

SHORT_S = 0.1
LONG_S = 30.0


def test_a_file_that_does_not_change_is_stale(tmp_path: Path) -> None:
    (tmp_path / "beat").write_text("1")
    assert look_program.word(str(tmp_path), "beat", SHORT_S) == "stale"


def test_where_there_is_none_it_waits(tmp_path: Path) -> None:
    (tmp_path / "beat").mkdir()
    assert look_program.word(str(tmp_path), "bea*", SHORT_S) == "waiting"


@pytest.mark.parametrize("glob", ["beats/one", "**/*", "beats/.hidden"])
def test_one_that_changes_is_alive(tmp_path: Path, glob: str) -> None:
    """In its bytes, or in its time alone; whichever of several it is."""
    folder = tmp_path / "beats"
    folder.mkdir()
    for name in ("one", "two", ".hidden"):
        (folder / name).write_text("1")
    over = threading.Event()

    def touch() -> None:
        number = 0
        while not over.wait(0.01):
            number += 1
            for name in ("one", ".hidden"):
                os.utime(folder / name, ns=(0, number))

    beats = threading.Thread(target=touch)
    beats.start()
    try:
        assert look_program.word(str(tmp_path), glob, 4.0) == "alive"
    finally:
        over.set()
        beats.join()


def test_a_ticker_tells_how_late_it_was() -> None:
    with Ticker() as ticker:
        pass
    assert 0 <= ticker.starved_s < LONG_S


def test_busy_loops_end_with_their_block() -> None:
    """Twice as many as there are cores."""
    before = set(_children())
    with loaded() as count:
        assert count == 2 * len(os.sched_getaffinity(0))
        assert len(set(_children()) - before) == count
    assert set(_children()) <= before


def test_bounds_have_slack_above_what_is_promised() -> None:
    quick = HeartbeatSource(glob="beat", stale_after_s=0.5, stalled_after_s=4.0)
    bounds = Bounds(source=quick, answer_s=0.1)
    assert bounds.every_s == 0.05
    assert bounds.stale_s == pytest.approx(0.5 + 1.0 + 0.05 + 0.2)
    assert bounds.stalled_s == pytest.approx(4.0 + 2.0 + 0.05 + 0.2)


def test_every_kind_that_is_watched_is_of_a_fault_of_its_own() -> None:
    assert {kind.fault.value for kind in KINDS} == {"frozen", "slowed", "blocked"}
    assert {kind for kind in TrialKind if kind.fault in {one.fault for one in KINDS}} == set(KINDS)


def _children() -> list[str]:
    return Path("/proc/thread-self/children").read_text().split()
