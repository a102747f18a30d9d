"""Research, render, assemble; what a stage returned is handed on in memory.

Planted fault: the state keeps the status of each stage and not what it returned, so that after a
crash ``assemble`` runs with ``frames`` None, and is marked done.
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


def research(context: dict[str, str]) -> None:
    context["shots"] = "s1s2"


def render(context: dict[str, str]) -> None:
    context["frames"] = "f1f2"


def assemble(context: dict[str, str]) -> None:
    save("film", str(context.get("frames")))


STAGES = (research, render, assemble)


def run() -> None:
    done = json.loads(load("state.json", "[]"))
    context: dict[str, str] = {}
    for number, stage in enumerate(STAGES):
        if number in done:
            continue
        event(f"start {stage.__name__}")
        given = json.dumps(context, sort_keys=True).encode()
        event(f"input {stage.__name__} {hashlib.sha256(given).hexdigest()}")
        stage(context)
        done.append(number)
        save("state.json", json.dumps(done))
        event(f"done {stage.__name__}")


def check() -> None:
    if load("state.json", "") != "[0, 1, 2]":
        sys.exit("not finished")
    print(load("film", "no film"))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
