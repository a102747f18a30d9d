"""Five results: each is written into a file without a name (O_TMPFILE), which is linked in when
it is whole; ``newest`` is a symbolic link, made beside it and renamed. Sound.
"""

from __future__ import annotations

import os
import sys

RESULTS = "abcde"


def put(descriptor: int, data: bytes) -> None:
    """Write all of it: a call may take a part only."""
    while data:
        data = data[os.write(descriptor, data) :]


def publish(name: str, text: str) -> None:
    folder = os.open(".", os.O_RDONLY)
    file = os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o600)
    put(file, text.encode())
    os.fsync(file)
    os.link(f"/proc/self/fd/{file}", name, src_dir_fd=folder)
    os.close(file)
    os.fsync(folder)
    os.close(folder)


def run() -> None:
    for name in RESULTS:
        if not os.path.exists(name):
            publish(name, name.upper())
    if not os.path.lexists("newest"):
        if os.path.lexists("newest.tmp"):
            os.unlink("newest.tmp")
        os.symlink(RESULTS[-1], "newest.tmp")
        os.rename("newest.tmp", "newest")


def check() -> None:
    for name in (*RESULTS, "newest"):
        try:
            with open(name) as file:
                if file.read() != (RESULTS[-1] if name == "newest" else name).upper():
                    sys.exit(f"{name} is wrong")
        except FileNotFoundError:
            sys.exit(f"{name} is missing")
    print(RESULTS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
