"""A job that keeps its own clock: nothing was tried of that, and it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Coverage, TrialKind
from pytest_checkpoint.phases.liveness import clock, trials
from pytest_checkpoint.phases.liveness.clock import ClockNotSetError
from pytest_checkpoint.phases.liveness.trials import WatchedTrials
from pytest_checkpoint.subject import HeartbeatSource

WHY = "no process of the job was seen to load libfaketime"


def conduct(*_: object, **__: object) -> Any:
    raise ClockNotSetError(WHY)


def test_nothing_was_tried_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    options = SimpleNamespace(exhaustive=False, max_states=1)
    subject = SimpleNamespace(heartbeat=HeartbeatSource(glob="beat", stale_after_s=1.0))
    bench = cast("Any", SimpleNamespace(options=options, subject=subject))
    control = cast("Any", SimpleNamespace(recording=SimpleNamespace(operations=())))
    told = cast("Any", SimpleNamespace(phase=lambda text: None))
    seen = SimpleNamespace(bounds=SimpleNamespace(answer_s=0.1), steps=[])
    conductor = SimpleNamespace(conduct=conduct)
    monkeypatch.setattr(clock, "unavailable", lambda: None)
    monkeypatch.setattr(trials, "watch_undisturbed", lambda *_: seen)
    monkeypatch.setattr(trials, "Conductor", lambda *_: conductor)
    made = WatchedTrials(bench, control, {TrialKind.CLOCK_SET}, told)
    assert made.count == 1
    (work,) = made.works()
    assert list(work) == made.made == []
    note = f"that the wall clock is set was not tried: {WHY}"
    nothing = Coverage(derived=0, unique=0, explored=0, left_out=(note,))
    assert made.coverage() == {TrialKind.CLOCK_SET: nothing}
