"""A stage writes its temporary file anew, whatever its first, interrupted run has left. Sound: the
twin of the one that appends.
"""

from __future__ import annotations

import os
import sys


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


STAGES = ("shoot", "develop")
PARTS = ("one\n", "two\n")


def perform(stage: str) -> None:
    with open(f"{stage}.tmp", "w", buffering=1) as file:
        for part in PARTS:
            file.write(part)
    os.replace(f"{stage}.tmp", f"{stage}.txt")


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        done = lines.read().split()
        for stage in STAGES:
            if stage in done:
                continue
            event(f"start {stage}")
            perform(stage)
            journal.write(f"{stage}\n")
            journal.flush()
            event(f"done {stage}")


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
