"""Planted: the handoff tells of the last stage only, and what came before is forgotten."""

from __future__ import annotations

import json
import os
import sys


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


STAGES = ("fetch", "sum")


def hand_over(done: list[str]) -> None:
    following = [stage for stage in STAGES if stage not in done][:1]
    with open("handoff.tmp", "w") as file:
        json.dump({"done": done[-1:], "next": following}, file)
    os.replace("handoff.tmp", "handoff.json")


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        done = lines.read().split()
        hand_over(done)
        for stage in STAGES[len(done) :]:
            event(f"start {stage}")
            done.append(stage)
            journal.write(f"{stage}\n")
            journal.flush()
            hand_over(done)
            event(f"done {stage}")


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
