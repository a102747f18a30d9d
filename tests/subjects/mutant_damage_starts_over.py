"""Two stages, saved by rename. A state that cannot be read is taken for none, and everything is
done again in silence.
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


def save(outputs: dict[str, int]) -> None:
    with open("state.tmp", "w") as file:
        json.dump(outputs, file)
    os.replace("state.tmp", "state.json")


def load() -> dict[str, int]:
    try:
        with open("state.json") as file:
            return dict(json.load(file))
    except Exception:
        return {}


def run() -> None:
    outputs = load()
    if os.path.isdir("state.json"):
        os.rmdir("state.json")
    for stage in STAGES:
        if stage in outputs:
            continue
        event(f"start {stage}")
        outputs[stage] = ord(stage)
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
