"""A journal of squares, one line each, appended in one write.

Planted fault: a last line without its newline is given one and believed, though it may be cut.
"""

from __future__ import annotations

import os
import sys

STEPS = 9
FIRST = 30


def read() -> list[int]:
    try:
        with open("journal") as file:
            return [int(line) for line in file]
    except FileNotFoundError:
        return []


def run() -> None:
    journal = os.open("journal", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    size = os.fstat(journal).st_size
    if size and os.pread(journal, 1, size - 1) != b"\n":
        os.write(journal, b"\n")
    for number in range(FIRST + len(read()), FIRST + STEPS):
        os.write(journal, f"{number * number}\n".encode())
    os.close(journal)


def check() -> None:
    entries = read()
    if len(entries) != STEPS:
        sys.exit(f"{len(entries)} entries instead of {STEPS}")
    print(entries)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
