"""One stage, a state written aside, synced and renamed.

Planted fault: how much os.write() has written is not looked at.
"""

from __future__ import annotations

import json
import os
import sys

STAGES = "a"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def save(outputs: dict[str, str]) -> None:
    descriptor = os.open("state.json.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, json.dumps(outputs).encode())
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace("state.json.tmp", "state.json")
    sync_folder()


def load() -> dict[str, str]:
    try:
        with open("state.json") as file:
            outputs: dict[str, str] = json.load(file)
            return outputs
    except FileNotFoundError:
        return {}


def run() -> None:
    outputs = load()
    for stage in STAGES:
        if stage in outputs:
            continue
        event(f"start {stage}")
        outputs[stage] = stage * 3
        save(outputs)
        event(f"done {stage}")


def check() -> None:
    outputs = load()
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
