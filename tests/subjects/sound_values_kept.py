"""What a stage returned comes back as it went, whatever it was. Sound: the twin of values that are
mangled.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


VALUES: dict[str, Any] = {
    "nan": [1.0, float("nan")],
    "raw": b"\x00\xff",
    "none": {"kept": 1, "gone": None},
    "unicode": "e\u0301",
    "third": [1 / 3],
}
"""Stage → what it returns; the next one is given it."""
STAGES = (*VALUES, "last")


def encoded(value: Any) -> Any:
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {"dict": [[key, encoded(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    return value


def decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "float":
        return float.fromhex(inner)
    if kind == "bytes":
        return bytes.fromhex(inner)
    return {key: decoded(item) for key, item in inner}


def run() -> None:
    returned: list[Any] = []
    with open("journal", "a") as journal, open("journal") as lines:
        returned += [decoded(json.loads(line)) for line in lines]
        for number in range(len(returned), len(STAGES)):
            stage = STAGES[number]
            event(f"start {stage}")
            if number:
                given = repr(returned[-1]).encode()
                event(f"input {stage} {hashlib.sha256(given).hexdigest()}")
            returned.append(VALUES.get(stage))
            journal.write(json.dumps(encoded(returned[-1])) + "\n")
            journal.flush()
            event(f"done {stage}")


def check() -> None:
    with open("journal") as lines:
        print(len(lines.readlines()))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
