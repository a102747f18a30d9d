"""A journal of squares without checksums; a last line without its newline is cut off, not
believed. Sound: the twin of the half line that is accepted.
"""

from __future__ import annotations

import os
import sys

STEPS = 9
FIRST = 30


def read() -> tuple[list[int], int]:
    """The entries that are whole, and where they end."""
    try:
        with open("journal", "rb") as file:
            data = file.read()
    except FileNotFoundError:
        data = b""
    end = data.rfind(b"\n") + 1
    return [int(line) for line in data[:end].split()], end


def run() -> None:
    entries, end = read()
    with open("journal", "ab", buffering=0) as journal:
        if journal.tell() > end:
            journal.truncate(end)
        for number in range(FIRST + len(entries), FIRST + STEPS):
            line = b"%d\n" % (number * number)
            while line:  # a call may take a part only
                line = line[journal.write(line) :]


def check() -> None:
    entries, _ = read()
    if len(entries) != STEPS:
        sys.exit(f"{len(entries)} entries instead of {STEPS}")
    print(entries)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
