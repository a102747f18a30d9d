"""Pauses that grow, and that two workers do not have in common."""

from __future__ import annotations

import threading
from random import Random
from unittest.mock import Mock

import pytest

from checkpoint_runtime.extract.store import backoff as module
from checkpoint_runtime.extract.store.backoff import Backoff
from checkpoint_runtime.extract.store.failures import TransientStoreError

NOTES: list[str] = []


def pauses(seed: int) -> list[float]:
    stop = Mock(spec=threading.Event)
    stop.wait.return_value = False
    backoff = Backoff(
        100.0, first_s=1.0, longest_s=4.0, random=Random(seed), stop=stop, note=NOTES.append
    )
    for _ in range(5):
        backoff.pause(TransientStoreError("503", "busy"))
    return [call.args[0] for call in stop.wait.call_args_list]


def test_they_grow_up_to_the_longest_and_differ() -> None:
    for found in (pauses(1), pauses(2)):
        assert [
            whole / 2 <= pause <= whole for pause, whole in zip(found, (1, 2, 4, 4, 4), strict=True)
        ] == [True] * 5
    assert not set(pauses(1)) & set(pauses(2))


def test_the_last_one_ends_at_the_deadline() -> None:
    stop = Mock(spec=threading.Event)
    stop.wait.return_value = False
    backoff = Backoff(
        0.5, first_s=9.0, longest_s=9.0, random=Random(1), stop=stop, note=NOTES.append
    )
    backoff.pause(TransientStoreError("503", "busy"))
    assert stop.wait.call_args.args[0] == pytest.approx(0.5, abs=0.4)


def test_a_fault_that_lasts_is_told_before_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    NOTES.clear()
    pauses(1)
    assert NOTES == []
    monkeypatch.setattr(module, "_TELLS_EVERY_S", 0.0)
    pauses(1)
    assert NOTES[0].startswith("busy It is tried again, for 100 s more (tries: 1)")
    assert len(NOTES) == 5
