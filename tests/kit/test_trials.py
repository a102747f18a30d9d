"""Trials are made until the budget is spent, and those behind a known hang are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import trials
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.trial_plan import PlannedTrial
from pytest_checkpoint.phases.trials import Tried, try_all
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.subject import Subject
from tests.kit.test_trial_plan import many, recorded

ONCE, ALWAYS = TrialKind.RAISES_ONCE, TrialKind.RAISES_ALWAYS


class Clock:
    """Moves on only when a trial is made."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Laboratory:
    """Makes trials up: each takes a second, and hangs if the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stages: int) -> None:
        self.clock = Clock()
        self.hangs: frozenset[TrialKind] = frozenset()
        self.made: list[str] = []
        self._stages = stages
        monkeypatch.setattr(trials, "conduct", self._conduct)
        monkeypatch.setattr(trials, "time", self.clock)

    def _conduct(self, bench: Any, control: Any, source: Any, planned: PlannedTrial) -> Any:
        self.clock.now_s += 1
        self.made.append(planned.point.operation)
        hung = planned.kind in self.hangs
        execution = Execution(exit_code=None if hung else 0, timed_out=hung)
        leg = Leg(command=Command.RUN, execution=execution)
        trial = Trial(point=planned.point, kind=planned.kind, stage=planned.stage, legs=(leg,))
        return trial, None

    def try_all(self, *kinds: TrialKind, **options: Any) -> Tried:
        command = ("true", "{workspace}")
        subject = Subject(
            name="job", run=command, resume=command, check=command, working_directory=Path()
        )

        class Bench:
            pass

        bench = Bench()
        vars(bench).update(subject=subject, options=Options(rootdir=Path(), **options))
        recording, reference = recorded(*many(self._stages))
        control = Control(
            reference=reference,
            recording=recording,
            start=cast("Any", None),
            deadlines=cast("Any", None),
            unreadable=(),
            notes=(),
        )
        return try_all(cast("Any", bench), control, cast("Any", None), kinds, SilentProgress())


def test_all_are_made_and_told_in_the_order_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 4)
    tried = laboratory.try_all(ONCE, ALWAYS)
    assert len(laboratory.made) == 8
    assert [(one.kind, one.stage) for one in tried.trials] == [
        (kind, f"s{number}") for kind in (ONCE, ALWAYS) for number in range(4)
    ]
    assert all(one.complete and not one.unreached for one in tried.coverage.values())


def test_what_the_budget_leaves_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Laboratory(monkeypatch, 4).try_all(ONCE, ALWAYS, time_budget_s=3)
    assert len(tried.trials) == 3
    assert tried.coverage[ONCE].explored == 2
    assert tried.coverage[ONCE].unreached == ("stage s1 raises once", "stage s2 raises once")
    assert len(tried.coverage[ALWAYS].unreached) == 3


def test_no_budget_binds_who_wants_all(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 20)
    tried = laboratory.try_all(ONCE, time_budget_s=3, exhaustive=True)
    assert len(laboratory.made) == 20
    assert tried.coverage[ONCE].complete


def test_after_two_hangs_a_kind_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 5)
    laboratory.hangs = frozenset({ONCE})
    tried = laboratory.try_all(ONCE, ALWAYS)
    assert sum(one.kind is ONCE for one in tried.trials) == 2
    assert sum(one.kind is ALWAYS for one in tried.trials) == 5
    once = tried.coverage[ONCE]
    assert (once.explored, len(once.known_hangs), once.unreached) == (2, 3, ())
