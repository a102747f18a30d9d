"""Planted: a mail is noted only after it was sent, so a kill between the two sends it again."""

from __future__ import annotations

import json
import os
import sys

MAILS = ("ann", "bob")


def send(who: str) -> None:
    """One line, in one write."""
    line = json.dumps({"kind": "mail", "id": f"mail to {who}"}) + "\n"
    with open(os.environ["CHECKPOINT_EFFECTS_FILE"], "ab", buffering=0) as effects:
        effects.write(line.encode())


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        sent = lines.read().split()
        for who in MAILS[len(sent) :]:
            send(who)
            journal.write(f"{who}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
