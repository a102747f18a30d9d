"""A shell script that runs two programs for each of four results: ``tr`` writes the temp file,
``mv`` renames it. Sound.
"""

from __future__ import annotations

import os
import sys

RESULTS = "1234"
SCRIPT = """
for number in 1 2 3 4; do
    [ -e "out $number" ] && continue
    echo "start $number" >> "$CHECKPOINT_EVENTS"
    printf %s "$number" | tr 1234 wxyz > "$number.tmp" || exit 1
    mv "$number.tmp" "out $number" || exit 1
    echo "done $number" >> "$CHECKPOINT_EVENTS"
done
"""


def run() -> None:
    os.environ.setdefault("CHECKPOINT_EVENTS", os.devnull)
    os.execvp("sh", ["sh", "-c", SCRIPT])


def check() -> None:
    found = ""
    for number in RESULTS:
        try:
            with open(f"out {number}") as file:
                found += file.read()
        except FileNotFoundError:
            sys.exit(f"no result {number}")
    print(found)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
