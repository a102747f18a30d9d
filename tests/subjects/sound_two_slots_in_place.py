"""A sum and its step, written in place with an end mark, into two files in turn: the one that is
not being written is whole. Sound: the twin of the text of which a prefix still parses.
"""

from __future__ import annotations

import os
import re
import sys

FIRST = 98
LAST = 103
SLOTS = ("slot0", "slot1")


def read() -> tuple[int, int]:
    """Step and sum of the newest slot that is whole."""
    found = [(FIRST - 1, 0)]
    for slot in SLOTS:
        try:
            with open(slot) as file:
                whole = re.fullmatch(r"(\d+) (\d+);", file.read())
        except FileNotFoundError:
            continue
        if whole:
            found.append((int(whole[1]), int(whole[2])))
    return max(found)


def run() -> None:
    step, total = read()
    while step < LAST:
        step += 1
        total += step
        with open(SLOTS[step % 2], "w") as file:
            file.write(f"{step} {total};")


def check() -> None:
    step, total = read()
    if step != LAST:
        sys.exit(f"at step {step} of {LAST}")
    print(total)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
