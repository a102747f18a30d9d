"""A sum and its step in a record of seven bytes; a shorter file means the start.

Planted fault: each record is written over the last one. No kill between two calls is seen to do
harm; a write that is cut leaves half of the new record and half of the old.
"""

from __future__ import annotations

import os
import sys

STEPS = 12
SIZE_BYTES = 7


def read() -> tuple[int, int]:
    try:
        with open("state", "rb") as file:
            record = file.read()
    except FileNotFoundError:
        record = b""
    return (int(record[:3]), int(record[4:])) if len(record) == SIZE_BYTES else (0, 0)


def run() -> None:
    step, total = read()
    state = os.open("state", os.O_WRONLY | os.O_CREAT, 0o600)
    while step < STEPS:
        step += 1
        total += step
        os.pwrite(state, b"%03d %03d" % (step, total), 0)
    os.close(state)


def check() -> None:
    step, total = read()
    if step != STEPS:
        sys.exit(f"at step {step} of {STEPS}")
    print(total)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
