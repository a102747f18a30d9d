"""Three stages under a lock file, made in one step, with its owner's number.

Planted fault: that some process has the number is taken to mean that the owner lives.
"""

from __future__ import annotations

import os
import sys

STAGES = ("one", "two", "three")


def save(name: str, text: str) -> None:
    """All of it or nothing."""
    with open(f"{name}.{os.getpid()}", "w") as file:
        file.write(text)
    os.replace(file.name, name)


def say(line: str) -> None:
    with open(os.environ["CHECKPOINT_EVENTS"], "a") as events:
        events.write(f"{line}\n")


def work() -> None:
    for stage in STAGES:
        if not os.path.exists(stage):
            say(f"start {stage}")
            save(stage, stage.upper())
            say(f"done {stage}")


def run() -> None:
    mine = f"lock.{os.getpid()}"
    with open(mine, "w") as file:
        file.write(str(os.getpid()))
    try:
        os.link(mine, "lock")
    except FileExistsError:
        with open("lock") as file:
            owner = int(file.read())
        try:
            os.kill(owner, 0)
        except ProcessLookupError:
            os.rename(mine, "lock")
        else:
            os.unlink(mine)
            sys.exit(f"another run is active: {owner}")
    work()
    os.unlink("lock")


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
