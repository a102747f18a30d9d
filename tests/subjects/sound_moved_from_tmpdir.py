"""Files are made in TMPDIR, moved into the workspace under a name that nobody reads (a copy, if
TMPDIR is on another file system), and renamed there. Sound.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

NAMES = "abcd"


def run() -> None:
    for name in NAMES:
        if os.path.exists(name):
            continue
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(name.upper())
        shutil.move(file.name, f"{name}.part")
        os.replace(f"{name}.part", name)


def check() -> None:
    for name in NAMES:
        try:
            with open(name) as file:
                if file.read() != name.upper():
                    sys.exit(f"{name} is wrong")
        except FileNotFoundError:
            sys.exit(f"{name} is missing")
    print(NAMES)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
