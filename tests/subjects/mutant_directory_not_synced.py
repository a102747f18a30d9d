"""Planted: the directory is not synced after the rename, so that the old name may be back."""

from __future__ import annotations

import json
import os
import sys

STEPS = 3


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def save(text: str) -> None:
    with open("state.json.tmp", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace("state.json.tmp", "state.json")


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
