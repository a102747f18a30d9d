"""Planted: intent and outcome are recorded, but the id is a new one at each attempt, so that the
receiver takes what is sent again for something else.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
import uuid

PAGES = ("index", "about")


def publish() -> None:
    body = json.dumps({"kind": "publish", "id": str(uuid.uuid4())}).encode()
    urllib.request.urlopen(os.environ["CHECKPOINT_EFFECTS_URL"], data=body).close()


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        known = lines.read().splitlines()
        for page in PAGES:
            if f"published {page}" in known:
                continue
            if f"publishing {page}" not in known:
                journal.write(f"publishing {page}\n")
                journal.flush()
            publish()
            journal.write(f"published {page}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
