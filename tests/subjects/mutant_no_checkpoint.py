"""Twenty steps of computing, about 0.3 s in all, with a dot in a file every ten steps and the
result at the end.

Planted fault: there is no checkpoint.
"""

from __future__ import annotations

import os
import sys

STEPS = 20
ROUNDS = 330_000


def work(value: int) -> int:
    """One step: about 15 ms of computing."""
    for number in range(ROUNDS):
        value = (value * 31 + number) % 251
    return value


def run() -> None:
    value = 1
    with open("progress", "wb", buffering=0) as progress:
        for step in range(1, STEPS + 1):
            value = work(value)
            if step % 10 == 0:
                progress.write(b".")
    with open("result.tmp", "w") as file:
        file.write(str(value))
    os.replace("result.tmp", "result")


def check() -> None:
    if not os.path.exists("result"):
        sys.exit("no result")
    with open("result") as file:
        print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
