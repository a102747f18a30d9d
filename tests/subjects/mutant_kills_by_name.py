"""Planted: at its start the job ends what an earlier attempt may have left running, by its name:
any process that has the same script in its command line.
"""

from __future__ import annotations

import os
import signal
import sys

PARTS = ("a", "b", "c")


def end_what_is_left() -> None:
    name = os.path.basename(__file__).encode()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if int(number) != os.getpid() and any(
                os.path.basename(word) == name for word in words[:2]
            ):
                os.kill(int(number), signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        done = lines.read().split()
        if done and len(done) < len(PARTS):
            end_what_is_left()
        for part in PARTS[len(done) :]:
            journal.write(f"{part}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
