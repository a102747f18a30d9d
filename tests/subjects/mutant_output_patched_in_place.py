"""Planted: the report arrives by a rename, and then its first line is patched where it stands: a
write that is cut short leaves half of each. The job writes it anew until its marker is there.
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
    if os.path.exists(".done"):
        return
    event("start report")
    with open("report.tmp", "w") as file:
        file.write("total: ????\n")
        file.write("7\n" * STEPS)
    os.replace("report.tmp", "report.txt")
    report = os.open("report.txt", os.O_WRONLY)
    os.pwrite(report, f"total: {7 * STEPS:04}".encode(), 0)
    os.close(report)
    os.close(os.open(".done", os.O_WRONLY | os.O_CREAT, 0o600))
    event("done report")


def check() -> None:
    if not os.path.exists(".done"):
        sys.exit("not done")
    with open("report.txt") as file:
        if file.readline() != f"total: {7 * STEPS:04}\n":
            sys.exit("the total is wrong")
    print(STEPS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
