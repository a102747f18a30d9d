"""The handoff is written at each commit, before the done line, from all that is committed; what is
long done stands in pages. Sound: the twin of those that mislead.
"""

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
    """All but the last that is done stand in pages, one each."""
    for number, stage in enumerate(done[:-1]):
        if not os.path.exists(f"pages/{number}.json"):
            os.makedirs("pages", exist_ok=True)
            write(f"pages/{number}.json", {"done": [{"name": stage}]})
    following = [stage for stage in STAGES if stage not in done]
    write(
        "handoff.json",
        {
            "pages": [f"pages/{number}.json" for number in range(len(done) - 1)],
            "done": [{"name": stage, "where": "journal"} for stage in done[-1:]],
            "next": following[0] if following else None,
        },
    )


def write(path: str, value: object) -> None:
    with open("handoff.tmp", "w") as file:
        json.dump(value, file)
    os.replace("handoff.tmp", path)


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
