"""Three stages; the state of another pipeline is refused, with a sentence.

Planted fault: the state is claimed for the new pipeline before the two are compared.
"""

from __future__ import annotations

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


PIPELINES = {
    "original": {"fetch": 1, "render": 2, "publish": 3},
    "renamed": {"fetch": 1, "draw": 2, "publish": 3},
    "reordered": {"render": 2, "fetch": 1, "publish": 3},
    "stronger": {"fetch": 1, "render": 5, "publish": 3},
}
"""Name → stages and what each is made with, in order."""


def perform(stage: str, parameter: int, before: str) -> str:
    return f"{before}{stage}{parameter};"


def run(stages: dict[str, int]) -> None:
    state = json.loads(load("state.json", "{}")) or {"stages": stages, "done": {}}
    before_us, state["stages"] = list(state["stages"].items()), stages
    save("state.json", json.dumps(state))
    if before_us != list(stages.items()):
        sys.exit("state.json was made by another pipeline: finish that, or take a new workspace")
    before = ""
    for stage, parameter in stages.items():
        if stage not in state["done"]:
            event(f"start {stage}")
            state["done"][stage] = perform(stage, parameter, before)
            save("state.json", json.dumps(state))
            event(f"done {stage}")
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
    if sys.argv[1] == "check":
        check()
    else:
        run(PIPELINES[sys.argv[3] if len(sys.argv) > 3 else "original"])
