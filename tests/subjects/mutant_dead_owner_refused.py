"""Three results under a lock file that holds the owner's process id.

Planted fault: a lock file that exists is taken for a live owner, also when its owner is dead:
every later start is refused until somebody removes the file.
"""

from __future__ import annotations

import os
import sys

RESULTS = "123"


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


def run() -> None:
    try:
        lock = os.open("lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.exit("another run is active: remove 'lock' if it is not")
    os.write(lock, str(os.getpid()).encode())
    os.close(lock)
    for result in RESULTS:
        if not os.path.exists(result):
            save(result, result)
    os.unlink("lock")


def check() -> None:
    if [load(result, "") for result in RESULTS] != list(RESULTS):
        sys.exit("a result is missing or wrong")
    print(RESULTS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
