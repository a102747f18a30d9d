"""The state by a temp file that is written through O_DSYNC, rename, directory sync. Sound."""

from __future__ import annotations

import json
import os
import sys

STEPS = 3


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    """Make the names in the workspace durable."""
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def put(descriptor: int, data: bytes) -> None:
    """Write all of it: a call may take a part only."""
    while data:
        data = data[os.write(descriptor, data) :]


def save(text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DSYNC
    descriptor = os.open("state.json.tmp", flags, 0o600)
    put(descriptor, text.encode())
    os.close(descriptor)
    os.replace("state.json.tmp", "state.json")
    sync_folder()


def load() -> list[int]:
    try:
        with open("state.json") as file:
            values: list[int] = json.load(file)
            return values
    except FileNotFoundError:
        return []


def run() -> None:
    values = load()
    for number in range(len(values), STEPS):
        event(f"start {number}")
        values.append(number * 7)
        save(json.dumps(values))
        event(f"done {number}")


def check() -> None:
    values = load()
    if len(values) != STEPS:
        sys.exit(f"{len(values)} of {STEPS}")
    print(values)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
