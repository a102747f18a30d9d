"""Eight steps; the newest two checkpoints are kept, and an older one goes only when a newer one
is there. Sound.
"""

from __future__ import annotations

import os
import sys

STEPS = 8
KEEP = 2


def checkpoints() -> list[int]:
    names = [name for name in os.listdir() if name.startswith("step")]
    return sorted(int(name.removeprefix("step")) for name in names)


def read(step: int) -> int:
    with open(f"step{step}", "rb") as file:
        return file.read()[0]


def run() -> None:
    kept = checkpoints()
    step, value = (kept[-1], read(kept[-1])) if kept else (0, 1)
    while step < STEPS:
        step += 1
        value = (value * 7 + step) % 251
        with open("new.tmp", "wb") as file:
            file.write(bytes([value]))
            file.flush()
            os.fsync(file.fileno())
        os.rename("new.tmp", f"step{step}")
        for old in checkpoints()[:-KEEP]:
            os.unlink(f"step{old}")
    for old in checkpoints()[:-KEEP]:
        os.unlink(f"step{old}")


def check() -> None:
    kept = checkpoints()
    if kept[-1:] != [STEPS]:
        sys.exit(f"at {kept} of {STEPS}")
    print(kept, read(STEPS))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
