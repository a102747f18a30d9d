"""At each start the report is written anew, and comes out the same to the byte. Sound: twin of
stamps_its_report.
"""

from __future__ import annotations

import json
import os
import sys

STEPS = 3


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def load(path: str) -> dict[str, int]:
    try:
        with open(path) as file:
            values: dict[str, int] = json.load(file)
            return values
    except FileNotFoundError:
        return {}


def save(path: str, values: dict[str, int]) -> None:
    with open(f"{path}.tmp", "w") as file:
        json.dump(values, file)
    os.replace(f"{path}.tmp", path)


def run() -> None:
    report = load("report.json")
    for number in range(STEPS):
        if str(number) not in report:
            event(f"start {number}")
            report[str(number)] = number * 7
            save("report.json", report)
            event(f"done {number}")
    save("report.json", report)


def check() -> None:
    report = load("report.json")
    results = [report.get(str(number)) for number in range(STEPS)]
    if None in results:
        sys.exit("not all is done")
    print(results)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
