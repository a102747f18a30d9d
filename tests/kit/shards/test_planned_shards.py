"""Which trials there are of shards, and how they are found again by their names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.shards.trials import Shards


def shards(operations: int) -> Shards:
    recording = SimpleNamespace(operations=(None,) * operations)
    return Shards(cast("Bench", None), cast("Control", SimpleNamespace(recording=recording)))


def ids(operations: int, kind: TrialKind, *, exhaustive: bool = False) -> list[str]:
    planned, _ = shards(operations).planned(kind, exhaustive=exhaustive)
    return [one.point.id for one in planned]


def test_a_few_of_each() -> None:
    assert ids(20, TrialKind.SHARDS_TOGETHER) == ["0.shards-together-1", "0.shards-together-2"]
    assert ids(20, TrialKind.SHARDS_IN_TURN) == ["0.shards-in-turn"]
    killed = ids(20, TrialKind.SHARD_KILLED)
    assert killed == ["1.shard-killed", "12.shard-killed", killed[2]]
    assert len(killed) == 3


def test_all_up_to_where_two_shards_surely_come() -> None:
    every = ids(20, TrialKind.SHARD_KILLED, exhaustive=True)
    assert sorted(int(one.split(".")[0]) for one in every) == list(range(1, 13))
    assert shards(20).planned(TrialKind.SHARD_KILLED, exhaustive=False)[1] == 12
    assert ids(1, TrialKind.SHARD_KILLED, exhaustive=True) == ["1.shard-killed"]


@pytest.mark.parametrize(
    ("step", "variant", "found"),
    [
        (0, "shards-together-2", True),
        (0, "shards-in-turn", True),
        (7, "shard-killed", True),
        (13, "shard-killed", False),
        (0, "shards-together-3", False),
        (3, "shards-in-turn", False),
    ],
)
def test_found_again(step: int, variant: str, *, found: bool) -> None:
    planned = shards(20).find(step, variant)
    assert (planned is not None) is found
    assert planned is None or (planned.point.step, planned.point.variant) == (step, variant)
