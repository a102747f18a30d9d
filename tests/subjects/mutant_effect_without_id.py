"""Planted: what is published has no id, so whoever receives it twice cannot know it."""

from __future__ import annotations

import json
import os
import sys
import urllib.request

PAGES = ("index", "about")


def publish() -> None:
    body = json.dumps({"kind": "publish"}).encode()
    urllib.request.urlopen(os.environ["CHECKPOINT_EFFECTS_URL"], data=body).close()


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        published = lines.read().split()
        for page in PAGES[len(published) :]:
            publish()
            journal.write(f"{page}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
