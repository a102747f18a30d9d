"""Each stage overwrites its state in place, the old one kept beside it meanwhile: one crash is
survived. But the recovery removes that copy before it has put the state back, so that a second
crash leaves neither.
"""

from __future__ import annotations

import json
import os
import sys

STAGES = "abc"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def write(path: str, text: str) -> None:
    """In place."""
    with open(path, "w") as file:
        file.write(text)


def save(outputs: dict[str, int], old: str) -> None:
    write("before.tmp", old)
    os.rename("before.tmp", "before")
    write("state.json", json.dumps(outputs))
    os.unlink("before")


def recover() -> None:
    if os.path.exists("before"):
        with open("before") as file:
            old = file.read()
        os.unlink("before")
        write("state.json", old)


def run() -> None:
    recover()
    text = "{}"
    if os.path.exists("state.json"):
        with open("state.json") as file:
            text = file.read()
    outputs = json.loads(text)
    for stage in STAGES:
        if stage in outputs:
            continue
        event(f"start {stage}")
        old = json.dumps(outputs)
        outputs[stage] = ord(stage)
        save(outputs, old)
        event(f"done {stage}")


def check() -> None:
    with open("state.json") as file:
        outputs = json.load(file)
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
