"""Twenty steps, each with a checkpoint that is written whole.

Planted fault: the checkpoint is never read.
"""

from __future__ import annotations

import os
import sys

STEPS = 20


def save(step: int, value: int) -> None:
    with open("checkpoint.tmp", "wb") as file:
        file.write(bytes([step, value]))
    os.replace("checkpoint.tmp", "checkpoint")


def run() -> None:
    step, value = 0, 1
    while step < STEPS:
        step += 1
        value = (value * 7 + step) % 251
        save(step, value)


def check() -> None:
    try:
        with open("checkpoint", "rb") as file:
            step, value = file.read()
    except FileNotFoundError:
        sys.exit("no checkpoint")
    if step != STEPS:
        sys.exit(f"at step {step} of {STEPS}")
    print(value)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
