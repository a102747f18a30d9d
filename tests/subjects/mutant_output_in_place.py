"""Planted: outputs are opened under their final names and filled. The job itself is not misled,
for it believes no output without its marker; whoever else sees the file is.
"""

from __future__ import annotations

import os
import sys

STEPS = 3


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def run() -> None:
    os.makedirs("out", exist_ok=True)
    for number in range(STEPS):
        if os.path.exists(f".done_{number}"):
            continue
        event(f"start {number}")
        with open(f"out/{number}.txt", "w") as file:
            file.write(f"{number * 7:04}")
        os.close(os.open(f".done_{number}", os.O_WRONLY | os.O_CREAT, 0o600))
        event(f"done {number}")


def check() -> None:
    for number in range(STEPS):
        if not os.path.exists(f".done_{number}"):
            sys.exit(f"{number} is not done")
        with open(f"out/{number}.txt") as file:
            if file.read() != f"{number * 7:04}":
                sys.exit(f"out/{number}.txt is wrong")
    print(STEPS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
