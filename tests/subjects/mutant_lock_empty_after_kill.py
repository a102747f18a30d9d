"""Three stages under a lock file with its owner's number and start time.

Planted fault: the file is made, and then filled. A kill in between leaves it empty, and an empty
one is somebody's for ever, who is just about to fill it.
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


def started(process: int) -> str:
    """When it was started, in ticks since the boot; empty: there is no such process."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def run() -> None:
    try:
        lock = os.open("lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        with open("lock") as file:
            owner, _, since = file.read().partition(" ")
        if not owner or started(int(owner)) == since:
            sys.exit(f"another run is active: {owner}")
        save("lock", f"{os.getpid()} {started(os.getpid())}")
    else:
        os.write(lock, f"{os.getpid()} {started(os.getpid())}".encode())
    work()
    os.unlink("lock")


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
