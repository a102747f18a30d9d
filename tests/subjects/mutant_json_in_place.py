"""A counter in a JSON file.

Planted fault: the file is emptied and then filled, through ``open``.
"""

from __future__ import annotations

import json
import os
import sys

STEPS = 4


def save(text: str) -> None:
    with open("state.json", "w") as file:
        file.write(text)


def run() -> None:
    state = {"n": 0}
    if os.path.exists("state.json"):
        with open("state.json") as file:
            state = json.load(file)
    while state["n"] < STEPS:
        state["n"] += 1
        save(json.dumps(state))


def check() -> None:
    if not os.path.exists("state.json"):
        sys.exit("no state")
    with open("state.json") as file:
        print(json.load(file))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
