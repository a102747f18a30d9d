"""Three stages under the exclusive lock of a database, which dies with its owner. Sound."""

from __future__ import annotations

import os
import sqlite3
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
    lock = sqlite3.connect("lock.db", timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        sys.exit(f"another run is active: {error}")
    work()
    lock.rollback()


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
