"""Two stages of two parts each; told to end, it finishes the stage in hand,
and exits 75 where more are left. Sound: the twin of a handler that saves half.
"""

from __future__ import annotations

import json
import os
import signal
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


TOLD: list[int] = []


def told(number: int, frame: object) -> None:
    TOLD.append(number)


def save(outputs: dict[str, str]) -> None:
    with open("state.json.tmp", "w") as file:
        json.dump(outputs, file)
        file.flush()
        os.fsync(file.fileno())
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
    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
    outputs = load()
    for stage in STAGES:
        if stage in outputs:
            continue
        if TOLD:
            sys.exit(75)
        event(f"start {stage}")
        outputs[stage] = ""
        for part in range(2):
            with open(f"part{part}", "w") as file:
                file.write(stage)
            outputs[stage] += stage
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
