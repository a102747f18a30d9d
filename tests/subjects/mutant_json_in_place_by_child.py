"""A counter in a JSON file, which a child process writes.

Planted fault: the shell empties the file and then fills it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

STEPS = 4


def save(text: str) -> None:
    subprocess.run(["sh", "-c", 'printf %s "$1" > state.json', "sh", text], check=True)


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
