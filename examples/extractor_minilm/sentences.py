"""Writes 512 short sentences of many lengths, each with an id: python sentences.py FILE"""

import itertools
import json
import sys
from pathlib import Path

WHO = (
    "Nobody", "The gardener", "My sister", "A flock of geese", "The last train but one",
    "The clerk at the far counter", "An old sailor with a wooden chest",
    "Everyone who had kept a ticket for the second evening",
)  # fmt: skip
DID = (
    "sang", "was late", "crossed the river", "came back without a word", "waited for the bell",
    "forgot where the key had been left", "lost the way twice, and found it three times",
    "asked for tea, then for coffee, and in the end for a glass of water",
)  # fmt: skip
WHEN = (
    ".", "!", " again.", " in March.", " on the way to the mill.", " before anybody had noticed.",
    ", as the almanac had said: 7 hours and 25 minutes after noon.",
    "; so at least it stands in a letter that was found between two floors of the house.",
)  # fmt: skip


def sentences() -> dict[str, str]:
    """By id. The ids tell the parts, so that they stay with the texts in any order."""
    parts = itertools.product(enumerate(WHO), enumerate(DID), enumerate(WHEN))
    return {f"s{i}{j}{k}": f"{who} {did}{when}" for (i, who), (j, did), (k, when) in parts}


def write(path: Path) -> None:
    lines = (json.dumps({"id": name, "text": text}) for name, text in sentences().items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
