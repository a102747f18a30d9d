"""A helper is ended only if it still has the number and the start time that were recorded, and of
TMPDIR only what the job has noted as its own is removed. Sound: the twin of those that go by names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile

PARTS = ("a", "b")


def save(state: dict[str, object]) -> None:
    with open("state.tmp", "w") as file:
        json.dump(state, file)
    os.replace("state.tmp", "state.json")


def started(number: int) -> str:
    """When the process of this number was started; empty: there is none."""
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except FileNotFoundError:
        return ""


def clean_up(state: dict[str, object]) -> None:
    helper = state.get("helper")
    if isinstance(helper, list) and started(helper[0]) == helper[1]:
        os.kill(helper[0], signal.SIGTERM)
    scratch = state.get("scratch")
    if isinstance(scratch, str) and os.path.exists(scratch):
        os.remove(scratch)


def run() -> None:
    state: dict[str, object] = {}
    if os.path.exists("state.json"):
        with open("state.json") as file:
            state = json.load(file)
        clean_up(state)
    for part in PARTS:
        if os.path.exists(part):
            continue
        name = os.path.join(tempfile.gettempdir(), f"render-{part}{os.getpid()}")
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as helper:
            save({"helper": [helper.pid, started(helper.pid)], "scratch": name})
            with open(name, "w") as scratch:
                scratch.write(part)
            with open(f"{part}.tmp", "w") as kept:
                kept.write(part)
            os.replace(f"{part}.tmp", part)
            os.remove(name)
            os.kill(helper.pid, signal.SIGTERM)


def check() -> None:
    for part in PARTS:
        with open(part) as kept:
            print(kept.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
