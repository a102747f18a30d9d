"""Planted: intent and outcome are recorded and the receiver is asked, but nothing keeps another run
away: started twice at once, both find nothing sent, and both send.
"""

from __future__ import annotations

import json
import os
import sys
import time

MAILS = ("ann", "bob")
RENDERING_S = 0.2
"""So long a mail takes to be made: the other one has started by then."""


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
        for name in (f"mail to {who}" for who in MAILS):
            if f"sent {name}" in known:
                continue
            intended = f"sending {name}" in known
            if not intended:
                journal.write(f"sending {name}\n")
                journal.flush()
                time.sleep(RENDERING_S)
            if not (intended and was_sent(name)):
                send(name)
            journal.write(f"sent {name}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(*dict.fromkeys(lines.read().splitlines()), sep="\n")


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
