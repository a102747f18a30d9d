"""Four stages, each with an output that is written whole.

Planted fault: no start looks at what is there, so that done stages run again.
"""

from __future__ import annotations

import os
import sys

STAGES = "abcd"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def save(path: str, text: str) -> None:
    """Publish ``text`` under ``path``: all of it or nothing, durable on return."""
    with open(f"{path}.tmp", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def load(path: str, default: str) -> str:
    """What ``path`` holds, or ``default`` where it does not exist."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return default


def run() -> None:
    for stage in STAGES:
        event(f"start {stage}")
        save(stage, stage.upper())
        event(f"done {stage}")


def check() -> None:
    if [load(stage, "") for stage in STAGES] != list(STAGES.upper()):
        sys.exit("an output is missing or wrong")
    print(STAGES.upper())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
