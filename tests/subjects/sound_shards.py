"""Eight samples, two to a file, by as many shards as there are. Whose a sample is follows from its
place in the whole list, what a file is called from the samples in it. Sound.
"""

from __future__ import annotations

import glob
import os
import sys

SAMPLES = "abcdefgh"
RANK, COUNT = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


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


def run() -> None:
    done = set(stored())
    mine = [one for one in SAMPLES[RANK::COUNT] if one not in done]
    for start in range(0, len(mine), 2):
        batch = mine[start : start + 2]
        save("".join(batch), " ".join(batch))


def check() -> None:
    if set(stored()) != set(SAMPLES):
        sys.exit(f"only {stored()}")
    print(*stored())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
