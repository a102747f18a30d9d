"""Results under names with spaces, a tab, a newline, bytes that are no UTF-8, a leading dash,
quotes, in a folder whose name is odd too; each temp file + rename. Sound.
"""

from __future__ import annotations

import os
import sys

FOLDER = b"a b\n\xff"
NAMES = (
    b"two  spaces ",
    b"tab\there",
    b"new\nline",
    b"\xff\xfe",
    b"-n",
    b"q'\"$x",
    b"\\073",
    b"(x) -> y",
)


def run() -> None:
    os.makedirs(FOLDER, exist_ok=True)
    for number, name in enumerate(NAMES):
        path = os.path.join(FOLDER, name)
        if os.path.exists(path):
            continue
        with open(path + b".tmp\n", "wb") as file:
            file.write(b"%02d" % number)
        os.rename(path + b".tmp\n", path)


def check() -> None:
    for number, name in enumerate(NAMES):
        try:
            with open(os.path.join(FOLDER, name), "rb") as file:
                if file.read() != b"%02d" % number:
                    sys.exit(f"{name!r} is wrong")
        except FileNotFoundError:
            sys.exit(f"{name!r} is missing")
    print(sorted(NAMES))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
