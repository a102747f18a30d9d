"""Research, render, assemble; what each returned is saved with its status and read back by a
resume. Sound: the twin of the output that is lost.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys


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


STAGES = ("research", "render", "assemble", "publish")


def perform(stage: str, before: str) -> str:
    return f"{before}{stage[0]}"


def run() -> None:
    outputs = json.loads(load("state.json", "[]"))
    for stage in STAGES[len(outputs) :]:
        event(f"start {stage}")
        event(f"input {stage} {hashlib.sha256(json.dumps(outputs).encode()).hexdigest()}")
        outputs.append(perform(stage, outputs[-1] if outputs else ""))
        save("state.json", json.dumps(outputs))
        event(f"done {stage}")


def check() -> None:
    outputs = json.loads(load("state.json", "[]"))
    if len(outputs) != len(STAGES):
        sys.exit("not finished")
    print(outputs[-1])


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
