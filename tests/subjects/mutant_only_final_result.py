"""Twenty results, collected in memory and published together, whole, at the end.

Planted fault: nothing is kept before the end.
"""

from __future__ import annotations

import os
import sys

STEPS = 20


def run() -> None:
    results = [number * number % 10 for number in range(STEPS)]
    with open("results.tmp", "wb", buffering=0) as file:
        for result in results:
            file.write(b"%d\n" % result)
    os.replace("results.tmp", "results")


def check() -> None:
    if not os.path.exists("results"):
        sys.exit("no results")
    with open("results") as file:
        print(file.read().split())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
