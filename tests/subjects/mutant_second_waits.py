"""Three stages under a lock of the kernel's.

Planted fault: a second start waits for the lock, and says nothing meanwhile.
"""

from __future__ import annotations

import fcntl
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
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    work()


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
