"""Planted: a mail is noted only before it is sent, and after a kill between the two it is taken for
sent, which it never was.
"""

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
        intended = lines.read().split()
        for who in MAILS[len(intended) :]:
            journal.write(f"{who}\n")
            journal.flush()
            send(who)


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
