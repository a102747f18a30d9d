"""Planted fault: whose a sample is depends on what is left of the list when the shard begins."""

from __future__ import annotations

from collections.abc import Set

from tiny_shards import COUNT, RANK, SAMPLES, Job


def of_the_rest(job: Job, done: Set[str]) -> list[str]:
    return [one for one in SAMPLES if one not in done][RANK::COUNT]


if __name__ == "__main__":
    Job.main(mine=of_the_rest)
