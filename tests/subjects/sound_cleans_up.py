"""One stage, a state written aside under a new name each time, and renamed; the start removes what
earlier attempts left. Sound: the twin of a temporary name per attempt.
"""

from __future__ import annotations

import glob
import json
import os
import sys
import tempfile

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
    descriptor, path = tempfile.mkstemp(prefix=".state.json.", dir=".")
    with open(descriptor, "w") as file:
        json.dump(outputs, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path, "state.json")
    sync_folder()


def load() -> dict[str, str]:
    try:
        with open("state.json") as file:
            outputs: dict[str, str] = json.load(file)
            return outputs
    except FileNotFoundError:
        return {}


def run() -> None:
    for left in glob.glob(".state.json.*"):
        os.unlink(left)
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
