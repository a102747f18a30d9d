"""Planted fault: a file is called by the number of its batch, which every shard counts for itself:
one shard's files are written over by another's.
"""

from __future__ import annotations

import glob

from tiny_shards import COUNT, Job


def numbered(job: Job, batch: list[str], number: int) -> str:
    return f"batch-{len(glob.glob('*.txt')) if COUNT == 1 else number}"


if __name__ == "__main__":
    Job.main(name=numbered)
