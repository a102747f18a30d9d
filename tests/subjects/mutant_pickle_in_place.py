"""A counter in a pickle.

Planted fault: the file is emptied and then filled.
"""

from __future__ import annotations

import os
import pickle
import sys

STEPS = 3


def run() -> None:
    count = 0
    if os.path.exists("state.pickle"):
        with open("state.pickle", "rb") as file:
            count = pickle.load(file)
    while count < STEPS:
        count += 1
        with open("state.pickle", "wb") as file:
            pickle.dump(count, file)


def check() -> None:
    if not os.path.exists("state.pickle"):
        sys.exit("no state")
    with open("state.pickle", "rb") as file:
        print(pickle.load(file))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
