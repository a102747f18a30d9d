"""Intent, effect, outcome; where only the intent stands, the resume looks whether the mail went
out. Sound: the twin of those that note it once.
"""

from __future__ import annotations

import json
import os
import sys

MAILS = ("ann", "bob")


def send(name: str) -> None:
    """One line, in one write."""
    line = json.dumps({"kind": "mail", "id": name}) + "\n"
    with open(os.environ["CHECKPOINT_EFFECTS_FILE"], "ab", buffering=0) as effects:
        effects.write(line.encode())


def was_sent(name: str) -> bool:
    with open(os.environ["CHECKPOINT_EFFECTS_FILE"]) as lines:
        return any(json.loads(line)["id"] == name for line in lines)


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        known = lines.read().splitlines()
        for who in MAILS:
            name = f"mail to {who}"
            if f"sent {name}" in known:
                continue
            intended = f"sending {name}" in known
            if not intended:
                journal.write(f"sending {name}\n")
                journal.flush()
            if not (intended and was_sent(name)):
                send(name)
            journal.write(f"sent {name}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
