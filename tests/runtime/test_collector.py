"""The collector is paused while a state is read, and is as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint_runtime import DamagedStateError
from checkpoint_runtime.state.collector import paused_collector
from checkpoint_runtime.state.fresh import LOG_NAME
from checkpoint_runtime.state.log import read_history
from checkpoint_runtime.state.records import History, first_record
from tests.runtime.support import log_of


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    assert gc.isenabled()
    if not request.param:
        gc.disable()
    yield request.param
    gc.enable()


def test_it_is_paused_and_as_before_afterwards(enabled: bool) -> None:
    with paused_collector():
        assert not gc.isenabled()
    assert gc.isenabled() == enabled
    with pytest.raises(ValueError, match="x"), paused_collector():
        raise ValueError("x")
    assert gc.isenabled() == enabled


def test_reading_a_state_pauses_it(
    tmp_path: Path, enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    take = History.take

    def noted(self: History, record: dict[str, object]) -> None:
        seen.append(gc.isenabled())
        take(self, record)

    monkeypatch.setattr(History, "take", noted)
    first = dict(first_record("film"))
    (tmp_path / LOG_NAME).write_bytes(log_of([first, {"attempt": "a"}, {"failed": 1}, first]))
    with pytest.raises(DamagedStateError, match="line 3"):
        read_history(tmp_path, "film")
    assert seen == [False] * 3
    assert gc.isenabled() == enabled
