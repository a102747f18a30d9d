"""A counter, committed through ``mkstemp`` and ``fdopen`` under a new temp name each time.
Sound.
"""

from __future__ import annotations

import os
import sys
import tempfile

STEPS = 6


def read() -> int:
    try:
        with open("count") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def run() -> None:
    count = read()
    while count < STEPS:
        count += 1
        descriptor, name = tempfile.mkstemp(dir=".")
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{count:04}")
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, "count")


def check() -> None:
    if read() != STEPS:
        sys.exit(f"at {read()} of {STEPS}")
    print(read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
