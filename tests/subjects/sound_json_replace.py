"""Four stages; status and output of each are committed together: temp file, fsync, rename, fsync
of the directory. Sound.
"""

from __future__ import annotations

import json
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
    outputs = json.loads(load("state.json", "{}"))
    for stage in STAGES:
        if stage in outputs:
            continue
        event(f"start {stage}")
        outputs[stage] = ord(stage)
        save("state.json", json.dumps(outputs, separators=(",", ":")))
        event(f"done {stage}")


def check() -> None:
    outputs = json.loads(load("state.json", "{}"))
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
