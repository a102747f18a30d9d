"""Which shard this is, by the command line or by the launcher."""

from __future__ import annotations

import pytest

from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.errors import ExtractInputError

SLURM = {
    "SLURM_ARRAY_TASK_ID": "7",
    "SLURM_ARRAY_TASK_COUNT": "3",
    "SLURM_ARRAY_TASK_MIN": "3",
    "SLURM_ARRAY_TASK_MAX": "11",
    "SLURM_ARRAY_TASK_STEP": "4",
}


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("0/1", {}, Shard(0, 1)),
        ("2/3", {"RANK": "0", "WORLD_SIZE": "9"}, Shard(2, 3)),
        ("auto", {"RANK": "1", "WORLD_SIZE": "4"}, Shard(1, 4)),
        ("auto/5", {"RANK": "1", "WORLD_SIZE": "4"}, Shard(1, 5)),
        ("auto", {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2"}, Shard(1, 2)),
        ("auto", SLURM, Shard(1, 3)),
        ("auto", {"JOB_COMPLETION_INDEX": "2", "JOB_COMPLETIONS": "3"}, Shard(2, 3)),
        ("auto/4", {"JOB_COMPLETION_INDEX": "2"}, Shard(2, 4)),
    ],
)
def test_known(text: str, environment: dict[str, str], expected: Shard) -> None:
    assert Shard.parse(text, environment) == expected


@pytest.mark.parametrize(
    ("text", "environment", "message"),
    [
        ("3", {}, "--shard 3: I/N is expected, with I from 0, or auto, or auto/N"),
        ("a/b", {}, "I/N is expected"),
        ("-1/2", {}, "I/N is expected"),
        ("1/2\n", {}, "I/N is expected"),
        ("auto/", {}, "I/N is expected"),
        ("3/3", {}, "there is no such shard: of 3 they are 0 to 2"),
        ("0/0", {}, "there is at least one shard"),
        ("auto", {}, "none of RANK .torchrun., SLURM_ARRAY_TASK_ID .* is set"),
        ("auto", {"RANK": "0"}, "RANK is set, but WORLD_SIZE is not set"),
        ("auto", {"RANK": "x", "WORLD_SIZE": "2"}, "RANK=x: a whole number is expected"),
        ("auto", {"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 of 2: there is no such shard"),
        ("auto", {"RANK": "0", **SLURM}, "more than once: RANK=0 and SLURM_ARRAY_TASK_ID=7"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "0"}, "SLURM_ARRAY_TASK_COUNT is not set"),
        ("auto", SLURM | {"SLURM_ARRAY_TASK_ID": "8"}, "these numbers do not fit together"),
        # Listed numbers: 3, 4, 11.
        ("auto", SLURM | {"SLURM_ARRAY_TASK_STEP": "1"}, "these numbers do not fit together"),
        ("auto", {"JOB_COMPLETION_INDEX": "2"}, "Give --shard auto/N, or set JOB_COMPLETIONS"),
    ],
)
def test_nonsense(text: str, environment: dict[str, str], message: str) -> None:
    with pytest.raises(ExtractInputError, match=message):
        Shard.parse(text, environment)


def test_each_number_is_one_shards() -> None:
    shards = [Shard(index, 3) for index in range(3)]
    for number in range(20):
        assert sum(shard.takes(number) for shard in shards) == 1
