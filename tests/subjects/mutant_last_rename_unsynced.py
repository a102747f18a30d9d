"""Planted: all is synced but the very last step, the rename of the whole list to its final name."""

from __future__ import annotations

import json
import os
import sys

STEPS = 2


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    """Make the names in the workspace durable."""
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def load(path: str) -> list[int]:
    """The whole lines of ``path``."""
    try:
        with open(path) as file:
            return [json.loads(line)[0] for line in file if line.endswith("]\n")]
    except FileNotFoundError:
        return []


def run() -> None:
    if os.path.exists("list"):
        return
    values = load("list.part")
    part = os.open("list.part", os.O_WRONLY | os.O_CREAT, 0o600)
    os.lseek(part, sum(len(f"[{value}]\n") for value in values), os.SEEK_SET)
    os.ftruncate(part, os.lseek(part, 0, os.SEEK_CUR))
    sync_folder()
    for number in range(len(values), STEPS):
        event(f"start {number}")
        os.write(part, f"[{number * 7}]\n".encode())
        os.fsync(part)
        event(f"done {number}")
    os.close(part)
    event("start publish")
    os.rename("list.part", "list")
    event("done publish")


def check() -> None:
    values = load("list")
    if len(values) != STEPS:
        sys.exit(f"{len(values)} of {STEPS}")
    print(values)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
