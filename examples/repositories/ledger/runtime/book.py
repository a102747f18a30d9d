"""Enters sums into a ledger: ``python -m runtime.book run|check WORKSPACE``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SUMS = (20, 15, 7)


def read(folder: Path) -> list[int]:
    path = folder / "ledger.json"
    entered: list[int] = json.loads(path.read_text()) if path.exists() else []
    return entered


def write(folder: Path, entered: list[int]) -> None:
    """Whole or not at all, and on the disk when it returns."""
    new = folder / "ledger.json.new"
    with new.open("w") as file:
        json.dump(entered, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / "ledger.json")
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def tell(line: str) -> None:
    """To whoever listens: a line in one write."""
    if "CHECKPOINT_EVENTS" in os.environ:
        with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
            events.write(f"{line}\n".encode())


def run(folder: Path) -> None:
    entered = read(folder)
    if entered:
        print(f"going on after {len(entered)} of {len(SUMS)}", flush=True)
    while len(entered) < len(SUMS):
        name = f"sum-{len(entered) + 1}"
        tell(f"start {name}")
        entered.append(SUMS[len(entered)])
        write(folder, entered)
        tell(f"done {name}")


def check(folder: Path) -> None:
    print(sum(read(folder)))


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2]))
