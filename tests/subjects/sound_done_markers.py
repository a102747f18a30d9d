"""Four outputs, written in place, each followed by an empty marker; without its marker an output
is written again and not believed. Sound: the twin of an output in place.
"""

from __future__ import annotations

import os
import sys

STAGES = "abcd"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def run() -> None:
    for stage in STAGES:
        if os.path.exists(f".done_{stage}"):
            continue
        event(f"start {stage}")
        with open(stage, "w") as file:
            file.write(stage * 3)
            file.flush()
            os.fsync(file.fileno())
        os.close(os.open(f".done_{stage}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        event(f"done {stage}")


def check() -> None:
    for stage in STAGES:
        if not os.path.exists(f".done_{stage}"):
            sys.exit(f"{stage} is not done")
        with open(stage) as file:
            if file.read() != stage * 3:
                sys.exit(f"{stage} is wrong")
    print(STAGES)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
