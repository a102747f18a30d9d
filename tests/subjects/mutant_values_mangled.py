"""Planted: what a stage returned is saved in a form that does not give it back.

NaN becomes None, bytes become text, None is dropped, Unicode is normalised, floats are rounded to
bf16. The stages of the first run are handed the values themselves; only those of a resume get what
came back. The job's own result does not show it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import sys
import unicodedata
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
        if math.isnan(value):
            return None
        return struct.unpack("<f", b"\0\0" + struct.pack("<f", value)[2:])[0]  # bf16
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {key: encoded(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    return value


def decoded(value: Any) -> Any:
    return value


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
