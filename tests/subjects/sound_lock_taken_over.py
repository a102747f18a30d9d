"""Four results under a lock of the kernel's, which a dead owner cannot keep; the process id in
the lock file is for people only. Sound.
"""

from __future__ import annotations

import fcntl
import os
import sys

RESULTS = ("1111", "2222", "3333", "4444")


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
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another run is active")
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    for result in RESULTS:
        if not os.path.exists(result):
            save(result, result)
    os.close(lock)


def check() -> None:
    if [load(result, "") for result in RESULTS] != [*RESULTS]:
        sys.exit("a result is missing or wrong")
    print(RESULTS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
