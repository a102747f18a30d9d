"""Planted fault: what is done is marked in the staging, and goes with it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import threading
import time

NAMES = "abcd"
SIZE = 5000
PATIENCE_S = 20.0


def event(line: str) -> None:
    with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def stage(name: str) -> None:
    """Under its own name only when it is whole."""
    with open(f"staging/{name}.part", "wb") as file:
        file.write(name.encode() * SIZE)
    os.rename(file.name, f"staging/{name}")


def staged(name: str) -> None:
    """Waits for room."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return stage(name)
        except OSError as error:
            if error.errno != errno.ENOSPC or time.monotonic() > until:
                sys.exit(f"{name} cannot be staged: {error}")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"staging/{name}.part")
        while not room() and time.monotonic() < until:
            threading.Event().wait(0.02)


def room() -> bool:
    told = os.statvfs("staging")
    inodes = told.f_favail > 0 or told.f_files == 0
    return inodes and told.f_bavail * told.f_frsize > SIZE


def store(name: str) -> None:
    shutil.copyfile(f"staging/{name}", f"stored/{name}.part")
    os.rename(f"stored/{name}.part", f"stored/{name}")


def run() -> None:
    for folder in ("stored", "staging/done"):
        os.makedirs(folder, exist_ok=True)
    for left in os.listdir("staging"):
        if left != "done":
            os.unlink(f"staging/{left}")
    for name in NAMES:
        if os.path.exists(f"staging/done/{name}"):
            continue
        event(f"start {name}")
        staged(name)
        store(name)
        os.close(os.open(f"staging/done/{name}", os.O_WRONLY | os.O_CREAT, 0o600))
        event(f"done {name}")
        os.unlink(f"staging/{name}")


def check() -> None:
    for name in NAMES:
        with open(f"stored/{name}", "rb") as file:
            print(name, file.read() == name.encode() * SIZE)
        os.stat(f"staging/done/{name}")


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
