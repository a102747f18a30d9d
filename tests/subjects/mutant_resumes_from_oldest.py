"""Twenty-four steps, each with a checkpoint of its own that is written whole.

Planted fault: a resume takes the oldest checkpoint, not the newest.
"""

from __future__ import annotations

import os
import sys

STEPS = 24


def save(step: int, value: int) -> None:
    with open("new.tmp", "wb") as file:
        file.write(bytes([value]))
    os.replace("new.tmp", f"checkpoint{step:02}")


def read(name: str) -> int:
    with open(name, "rb") as file:
        return file.read()[0]


def run() -> None:
    step, value = 0, 1
    names = sorted(name for name in os.listdir() if name.startswith("checkpoint"))
    if names:
        oldest = names[0]
        step, value = int(oldest.removeprefix("checkpoint")), read(oldest)
    while step < STEPS:
        step += 1
        value = (value * 7 + step) % 251
        save(step, value)


def check() -> None:
    if not os.path.exists(f"checkpoint{STEPS:02}"):
        sys.exit("not finished")
    print(read(f"checkpoint{STEPS:02}"))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
