"""Intent, effect, outcome, each durable before the next; where only the intent stands, the resume
looks whether the mail went out. Sound, also when the power fails: the twin of those that note it
once.
"""

from __future__ import annotations

import io
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


def note(journal: io.TextIOWrapper, line: str) -> None:
    journal.write(f"{line}\n")
    journal.flush()
    os.fsync(journal.fileno())


def run() -> None:
    with open("journal", "a+") as journal:
        folder = os.open(".", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        journal.seek(0)
        written = journal.read()
        known = written.splitlines(keepends=True)
        if known and not known[-1].endswith("\n"):  # torn: it was not noted
            journal.truncate(len(written) - len(known.pop()))
        for who in MAILS:
            name = f"mail to {who}"
            if f"sent {name}\n" in known:
                continue
            intended = f"sending {name}\n" in known
            if not intended:
                note(journal, f"sending {name}")
            if not (intended and was_sent(name)):
                send(name)
            note(journal, f"sent {name}")


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
