"""A sum and the step it has reached, in one line of text; an empty file means the start.

Planted fault: the line is written in place, and ``step=10`` is what a cut ``step=101`` looks
like.
"""

from __future__ import annotations

import os
import re
import sys

FIRST = 98
LAST = 103


def read() -> tuple[int, int]:
    try:
        with open("state") as file:
            found = re.fullmatch(r"sum=(\d+) step=(\d+)", file.read())
    except FileNotFoundError:
        found = None
    return (int(found[1]), int(found[2])) if found else (0, FIRST - 1)


def run() -> None:
    total, step = read()
    while step < LAST:
        step += 1
        total += step
        with open("state", "w") as file:
            file.write(f"sum={total} step={step}")


def check() -> None:
    total, step = read()
    if step != LAST:
        sys.exit(f"at step {step} of {LAST}")
    print(total)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
