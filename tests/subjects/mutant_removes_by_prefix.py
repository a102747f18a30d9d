"""Planted: at its start the job removes what earlier attempts have left in TMPDIR, by a prefix that
the files of others have too.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile

PARTS = ("a", "b")


def run() -> None:
    for path in glob.glob(os.path.join(tempfile.gettempdir(), "render-*")):
        os.remove(path)
    for part in PARTS:
        if os.path.exists(part):
            continue
        with tempfile.NamedTemporaryFile("w", prefix="render-", delete=False) as file:
            file.write(part)
        with open(file.name) as done, open(f"{part}.tmp", "w") as kept:
            kept.write(done.read())
        os.replace(f"{part}.tmp", part)
        os.remove(file.name)


def check() -> None:
    for part in PARTS:
        with open(part) as kept:
            print(kept.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
