"""Six short stages, and a beat.

Planted fault: it beats only between two stages.
"""

from __future__ import annotations

import json
import os
import sys
import time

STAGES = "abcdef"
STAGE_S = 0.07


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def beat(number: int) -> None:
    with open("beat.tmp", "w") as file:
        file.write(str(number))
    os.replace("beat.tmp", "beat.json")


def save(done: list[str]) -> None:
    with open("state.json.tmp", "w") as file:
        json.dump(done, file)
    os.replace("state.json.tmp", "state.json")


def load() -> list[str]:
    try:
        with open("state.json") as file:
            done: list[str] = json.load(file)
            return done
    except FileNotFoundError:
        return []


def run() -> None:
    done = load()
    for stage in STAGES:
        if stage not in done:
            beat(len(done))
            event(f"start {stage}")
            time.sleep(STAGE_S)  # the work
            done.append(stage)
            save(done)
            event(f"done {stage}")


def check() -> None:
    print("".join(load()))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
