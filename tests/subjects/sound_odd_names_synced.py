"""Results under names of any bytes, temp file, fsync, rename, and a sync of the folder, itself made
durable first. Sound under a power loss too.
"""

from __future__ import annotations

import os
import sys


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


FOLDER = b"a b\n\xff"
NAMES = (b"new\nline", b"\xff\xfe", b"-n q'\"$x")


def sync(path: bytes) -> None:
    """Make the names in a directory durable."""
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def run() -> None:
    os.makedirs(FOLDER, exist_ok=True)
    sync(b".")
    for number, name in enumerate(NAMES):
        path = os.path.join(FOLDER, name)
        if os.path.exists(path):
            continue
        event(f"start {number}")
        with open(path + b".tmp\n", "wb") as file:
            file.write(b"%02d" % number)
            file.flush()
            os.fsync(file.fileno())
        os.rename(path + b".tmp\n", path)
        sync(FOLDER)
        event(f"done {number}")


def check() -> None:
    for number, name in enumerate(NAMES):
        try:
            with open(os.path.join(FOLDER, name), "rb") as file:
                if file.read() != b"%02d" % number:
                    sys.exit(f"{name!r} is wrong")
        except FileNotFoundError:
            sys.exit(f"{name!r} is missing")
    print(sorted(NAMES))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
