"""Planted fault: a write that finds the staging full is tried again at once, without end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys

NAMES = "abcd"
SIZE = 5000


def event(line: str) -> None:
    with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def stage(name: str) -> None:
    """Under its own name only when it is whole."""
    with open(f"staging/{name}.part", "wb") as file:
        file.write(name.encode() * SIZE)
    os.rename(file.name, f"staging/{name}")


def staged(name: str) -> None:
    """Again and again."""
    while True:
        with contextlib.suppress(OSError):
            return stage(name)


def store(name: str) -> None:
    shutil.copyfile(f"staging/{name}", f"stored/{name}.part")
    os.rename(f"stored/{name}.part", f"stored/{name}")


def run() -> None:
    for folder in ("stored", "done"):
        os.makedirs(folder, exist_ok=True)
    for left in os.listdir("staging"):
        os.unlink(f"staging/{left}")
    for name in NAMES:
        if os.path.exists(f"done/{name}"):
            continue
        event(f"start {name}")
        staged(name)
        store(name)
        os.close(os.open(f"done/{name}", os.O_WRONLY | os.O_CREAT, 0o600))
        event(f"done {name}")
        os.unlink(f"staging/{name}")


def check() -> None:
    for name in NAMES:
        with open(f"stored/{name}", "rb") as file:
            print(name, file.read() == name.encode() * SIZE)
        os.stat(f"done/{name}")


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
