"""Planted: the marker that says an output is whole is durable before the output is; all outputs are
synced at the end.
"""

from __future__ import annotations

import os
import sys

STEPS = 2


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    """Make the names in the workspace durable."""
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def run() -> None:
    for number in range(STEPS):
        if os.path.exists(f".done_{number}"):
            continue
        event(f"start {number}")
        with open(f"{number}.txt", "w") as file:
            file.write(f"{number * 7}")
        marker = os.open(f".done_{number}", os.O_WRONLY | os.O_CREAT, 0o600)
        os.fsync(marker)
        os.close(marker)
        sync_folder()
        event(f"done {number}")
    for number in range(STEPS):
        with open(f"{number}.txt", "rb") as output:
            os.fsync(output.fileno())


def check() -> None:
    for number in range(STEPS):
        try:
            with open(f"{number}.txt") as file:
                if file.read() != f"{number * 7}":
                    sys.exit(f"{number}.txt is wrong")
        except FileNotFoundError:
            sys.exit(f"{number}.txt is missing")
        if not os.path.exists(f".done_{number}"):
            sys.exit(f"{number} is not done")
    print(STEPS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
