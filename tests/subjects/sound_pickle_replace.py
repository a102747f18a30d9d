"""A counter in a pickle, temp file + rename. Sound: the twin of the pickle in place."""

from __future__ import annotations

import os
import pickle
import sys

STEPS = 4


def read() -> int:
    try:
        with open("state.pickle", "rb") as file:
            count: int = pickle.load(file)
            return count
    except FileNotFoundError:
        return 0


def run() -> None:
    count = read()
    while count < STEPS:
        count += 1
        with open("state.new", "wb") as file:
            pickle.dump(count, file)
        os.replace("state.new", "state.pickle")


def check() -> None:
    if read() != STEPS:
        sys.exit(f"at {read()} of {STEPS}")
    print(read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
