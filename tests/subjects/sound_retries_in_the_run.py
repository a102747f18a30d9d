"""Three stages, each tried twice within one run, and not more often in all: an attempt is counted,
durably, before it starts. Sound.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


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


STAGES = ("fetch", "render", "publish")
BUDGET = 2
EXECUTIONS: dict[str, int] = {}


def perform(stage: str, before: str) -> str:
    """What the stage makes; it raises as CHECKPOINT_STAGE_FAULT=raise:NAME:TIMES says."""
    EXECUTIONS[stage] = EXECUTIONS.get(stage, 0) + 1
    fault = os.environ.get("CHECKPOINT_STAGE_FAULT", "raise::0").removeprefix("raise:")
    name, _, times = fault.rpartition(":")
    if stage == name and EXECUTIONS[stage] <= int(times):
        raise RuntimeError("it was told to fail")
    return f"{before}{stage};"


def attempt(state: Any, stage: str, before: str) -> None:
    while stage not in state["done"]:
        tried = state["attempts"].get(stage, 0)
        if tried >= BUDGET:
            sys.exit(f"{stage} was tried {tried} times: it is not tried again")
        state["attempts"][stage] = tried + 1
        save("state.json", json.dumps(state))
        event(f"start {stage}")
        try:
            state["done"][stage] = perform(stage, before)
        except RuntimeError as error:
            event(f"fail {stage}")
            print(f"{stage} failed: {error}")
    save("state.json", json.dumps(state))
    event(f"done {stage}")


def run() -> None:
    state = json.loads(load("state.json", "{}")) or {"done": {}, "attempts": {}}
    before = ""
    for stage in STAGES:
        if stage not in state["done"]:
            attempt(state, stage, before)
        before = state["done"][stage]
    if load("result.txt", "") != before:
        save("result.txt", before)


def check() -> None:
    result = load("result.txt", "")
    if not result:
        sys.exit("not finished")
    print(result)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
