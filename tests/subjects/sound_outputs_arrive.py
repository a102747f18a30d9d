"""Outputs that come under their names whole: by a rename, by a link of a file without a name, and
in a folder that is renamed. A log grows beside them; it is none. Sound.
"""

from __future__ import annotations

import os
import sys


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        file.write(text)


def renamed() -> None:
    write("out/a.tmp", "aaaa")
    os.replace("out/a.tmp", "out/a.txt")


def put(descriptor: int, data: bytes) -> None:
    """Write all of it: a call may take a part only."""
    while data:
        data = data[os.write(descriptor, data) :]


def linked() -> None:
    folder = os.open(".", os.O_RDONLY)
    descriptor = os.open("out", os.O_TMPFILE | os.O_WRONLY, 0o600)
    put(descriptor, b"bbbb")
    os.link(f"/proc/self/fd/{descriptor}", "out/b.txt", src_dir_fd=folder)
    os.close(descriptor)
    os.close(folder)


def in_a_folder() -> None:
    os.makedirs("c.tmp", exist_ok=True)
    write("c.tmp/c.txt", "cccc")
    os.rename("c.tmp", "out/c")


MADE = {"out/a.txt": renamed, "out/b.txt": linked, "out/c/c.txt": in_a_folder}


def run() -> None:
    os.makedirs("out", exist_ok=True)
    for path, make in MADE.items():
        if os.path.exists(path):
            continue
        event(f"start {path}")
        with open("out/run.log", "a") as log:
            log.write(f"{path}\n")
        make()
        event(f"done {path}")


def check() -> None:
    for path in MADE:
        if not os.path.exists(path):
            sys.exit(f"{path} is missing")
        with open(path) as file:
            print(path, file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
