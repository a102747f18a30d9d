"""A start after the owner's death may be warm; what such a one shows counts as a fresh one does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import CrashPoint, Trial, TrialKind
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.alone import trials
from pytest_checkpoint.phases.alone.planned import PlannedPair
from pytest_checkpoint.phases.alone.trials import AloneTrials
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.doubts import DoubtedWarmth
from pytest_checkpoint.report.progress import SilentProgress


class Laboratory:
    """A bench and a conductor: nothing runs. It notes how each trial was to start."""

    def __init__(self, broken: dict[bool, bool]) -> None:
        """``broken``: whether a trial shows something, if it started warm, and if it did not."""
        self.options = Options(rootdir=Path("/"))
        self.subject = SimpleNamespace(run=("job",), resume=("job",))
        self.started: list[str] = []
        self._broken = broken
        self._warm = False

    @contextmanager
    def warmly(self, *, on: bool) -> Iterator[bool]:
        before, self._warm = self._warm, on
        yield on
        self._warm = before

    def conduct(self, planned: PlannedPair) -> tuple[Trial, None]:
        self.started.append("warm" if self._warm else "fresh")
        stage = "broken" if self._broken[self._warm] else ""
        point = planned.point
        return Trial(point=point, kind=planned.kind, events_before=(), legs=(), stage=stage), None

    @staticmethod
    def shows_something(trial: Trial) -> bool:
        return trial.stage == "broken"

    def made(self, monkeypatch: pytest.MonkeyPatch, kind: TrialKind) -> Trial:
        monkeypatch.setattr(trials, "Conductor", lambda bench, control: self)
        point = CrashPoint(
            fault=kind.fault, step=2, variant=str(kind), operation="o", signature="s", total_steps=3
        )
        planned = [PlannedPair(kind=kind, point=point)]
        monkeypatch.setattr(trials, "planned", lambda *_, **__: planned)
        control: Any = SimpleNamespace(recording=SimpleNamespace(operations=()))
        alone = AloneTrials(
            cast(Bench, self), cast(Control, control), {kind}, SilentProgress(), warm=True
        )
        for work in alone.works():
            list(work)
        (trial,) = alone.made
        return trial


def test_what_is_kept_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory({True: False, False: True})
    assert laboratory.made(monkeypatch, TrialKind.DEAD_HOLDER).stage == ""
    assert laboratory.started == ["warm"]


def test_what_is_broken_counts_as_a_fresh_one_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory({True: True, False: True})
    assert laboratory.made(monkeypatch, TrialKind.DEAD_HOLDER).stage == "broken"
    assert laboratory.started == ["warm", "fresh"]


def test_what_only_a_warm_one_shows_is_a_doubt_about_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laboratory = Laboratory({True: True, False: False})
    with pytest.raises(DoubtedWarmth):
        laboratory.made(monkeypatch, TrialKind.DEAD_HOLDER)
    assert laboratory.started == ["warm", "fresh"]


def test_what_runs_side_by_side_starts_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory({True: False, False: False})
    laboratory.made(monkeypatch, TrialKind.SAME_INSTANT)
    assert laboratory.started == ["fresh"]
