"""Three renderings and a report that is written from what was asked for, not from what is there.

Planted fault: the status is saved before the output. After a kill between the two the report has
the right bytes all the same; only whoever looks at the outputs sees that one is missing.
"""

from __future__ import annotations

import os
import sys

CHUNKS = "xyz"


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
    status = load("status", "")
    for chunk in CHUNKS[len(status) :]:
        event(f"start {chunk}")
        status += chunk
        save("status", status)
        save(f"{chunk}.png", f"{chunk}!")
        event(f"done {chunk}")
    if not os.path.exists("report"):
        save("report", f"{len(CHUNKS)} ok")


def check() -> None:
    if load("report", "") != f"{len(CHUNKS)} ok":
        sys.exit("no report")
    print({chunk: load(f"{chunk}.png", "missing") for chunk in CHUNKS})


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
