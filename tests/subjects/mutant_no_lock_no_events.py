"""Eight results, each saved whole, and nothing said about it.

Planted fault: nothing keeps a second start out. That both have done the work shows by what they
have done.
"""

from __future__ import annotations

import os
import sys

STAGES = ("a", "b", "c", "d", "e", "f", "g", "h")


def save(name: str, text: str) -> None:
    """All of it or nothing."""
    with open(f"{name}.{os.getpid()}", "w") as file:
        file.write(text)
    os.replace(file.name, name)


def run() -> None:
    left = [stage for stage in STAGES if not os.path.exists(stage)]
    for stage in left:
        save(stage, stage.upper())


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
