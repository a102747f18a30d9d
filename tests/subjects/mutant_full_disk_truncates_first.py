"""Two stages, and a state in place.

Planted fault: the old state is truncated before the new one is written; when there is no room for
that one, both are gone.
"""

from __future__ import annotations

import json
import os
import sys

STAGES = "ab"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def save(outputs: dict[str, str]) -> None:
    with open("state.json", "w") as file:
        json.dump({**outputs, "room": "x" * 5000 * len(outputs)}, file)
        file.flush()
        os.fsync(file.fileno())
    sync_folder()


def load() -> dict[str, str]:
    try:
        with open("state.json") as file:
            outputs: dict[str, str] = json.loads(file.read() or "{}")
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    outputs.pop("room", "")
    return outputs


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
