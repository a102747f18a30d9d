"""Twelve small output files, each temp file + rename; what exists is done. Sound."""

from __future__ import annotations

import os
import sys

FILES = 12


def run() -> None:
    os.makedirs("out", exist_ok=True)
    for number in range(FILES):
        path = f"out/{number:02}"
        if os.path.exists(path):
            continue
        with open("new.tmp", "w") as file:
            file.write(f"{number:02}")
        os.rename("new.tmp", path)


def check() -> None:
    for number in range(FILES):
        try:
            with open(f"out/{number:02}") as file:
                if file.read() != f"{number:02}":
                    sys.exit(f"{number} is wrong")
        except FileNotFoundError:
            sys.exit(f"{number} is missing")
    print(FILES)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
