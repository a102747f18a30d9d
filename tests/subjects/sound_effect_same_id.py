"""Intent, effect, outcome; where only the intent stands, or no reply came, the same id is sent once
more, which the receiver knows. Sound: the twin of those whose ids are new or missing.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request

PAGES = ("index", "about")


def publish(name: str) -> None:
    body = json.dumps({"kind": "publish", "id": name}).encode()
    for attempt in (1, 2):
        try:
            urllib.request.urlopen(os.environ["CHECKPOINT_EFFECTS_URL"], data=body).close()
        except OSError:
            if attempt == 2:
                raise
        else:
            return


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        known = lines.read().splitlines()
        for page in PAGES:
            if f"published {page}" in known:
                continue
            if f"publishing {page}" not in known:
                journal.write(f"publishing {page}\n")
                journal.flush()
            publish(f"page {page}")
            journal.write(f"published {page}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
