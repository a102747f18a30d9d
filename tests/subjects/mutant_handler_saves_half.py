"""One stage of three parts each; told to end, the handler saves where it stands.

Planted fault: what it saves is half a stage, which looks like a whole one.
"""

from __future__ import annotations

import json
import os
import signal
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


OUTPUTS: dict[str, str] = {}


def told(number: int, frame: object) -> None:
    save(OUTPUTS)
    sys.exit(75)


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
    OUTPUTS.update(load())
    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
    for stage in STAGES:
        if stage in OUTPUTS:
            continue
        event(f"start {stage}")
        OUTPUTS[stage] = ""
        for part in range(3):
            with open(f"part{part}", "w") as file:
                file.write(stage)
            OUTPUTS[stage] += stage
        save(OUTPUTS)
        event(f"done {stage}")


def check() -> None:
    outputs = load()
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
