"""How not to do it: a training loop that saves a checkpoint after every step and never loads one.

Every file is written with care, and the end result is right after any crash: the job simply starts
over, each time. Nobody notices before the run is long enough to be killed more often than it ends.
"""

import json
import os
import sys
from pathlib import Path

STEPS = 20


def run(workspace: Path) -> None:
    if (workspace / "result.json").exists():
        return
    event("start training")
    total = 0
    for step in range(1, STEPS + 1):  # should begin after the step in checkpoint.json
        total += step
        save(workspace / "checkpoint.json", [step, total])
    save(workspace / "result.json", total)
    event("done training")


def save(path: Path, value: object) -> None:
    """The old content or the new one: written aside, made durable, then given its name."""
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # the rename itself
    finally:
        os.close(directory)


def event(line: str) -> None:
    """Tell whoever watches, in one write; without the variable nobody does."""
    path = os.environ.get("CHECKPOINT_EVENTS")
    if not path:
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def check(workspace: Path) -> None:
    path = workspace / "result.json"
    if not path.exists():
        sys.exit("there is no result")
    print(json.loads(path.read_text()))


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2]))
