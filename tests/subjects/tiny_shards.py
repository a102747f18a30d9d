"""What the jobs of several shards here have in common: eight samples, two to a file.

Each differs in one thing, and has that itself.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Set

SAMPLES = "abcdefgh"
RANK, COUNT = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class Job:
    """Whose a sample is follows from its place in the whole list, what a file is called from the
    samples in it.
    """

    @classmethod
    def main(cls, **own: object) -> None:
        """``own``: what this one does otherwise."""
        os.chdir(sys.argv[2])
        job: Job = type("Job", (cls,), own)()
        {"run": job.run, "check": job.check}[sys.argv[1]]()

    def run(self) -> None:
        mine = self.mine(set(stored()))
        for start in range(0, len(mine), 2):
            batch = mine[start : start + 2]
            save(self.name(batch, start // 2), " ".join(batch))

    def check(self) -> None:
        if set(stored()) != set(SAMPLES):
            sys.exit(f"only {stored()}")
        print(*stored())

    def mine(self, done: Set[str]) -> list[str]:
        """What this shard has to do."""
        return [one for one in SAMPLES[RANK::COUNT] if one not in done]

    def name(self, batch: list[str], number: int) -> str:
        """Of its file. ``number``: of the batch in this start, from 0."""
        return "".join(batch)


def save(name: str, text: str) -> None:
    """All of it or nothing, beside whatever other shards write."""
    temporary = f"{name}.{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(text)
    os.replace(temporary, f"{name}.txt")


def stored() -> list[str]:
    """Every sample as often as it occurs."""
    found: list[str] = []
    for name in glob.glob("*.txt"):
        with open(name) as file:
            found += file.read().split()
    return sorted(found)
