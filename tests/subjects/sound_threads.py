"""Three threads that write three files each, temp file + rename, at the same time. Sound."""

from __future__ import annotations

import os
import sys
import threading

THREADS = "abc"
FILES = 3
FAILED: list[str] = []


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def save(path: str, text: str) -> None:
    """Publish ``text`` under ``path``: all of it or nothing, durable on return."""
    with open(f"{path}.tmp", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def load(path: str, default: str) -> str:
    """What ``path`` holds, or ``default`` where it does not exist."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return default


def write(thread: str) -> None:
    """What goes wrong in here ends the job, not just the thread."""
    try:
        write_all(thread)
    except OSError as error:
        FAILED.append(f"{thread}: {error}")


def write_all(thread: str) -> None:
    for number in range(FILES):
        name = f"{thread}{number}"
        if os.path.exists(name):
            continue
        event(f"start {name}")
        save(name, name)
        event(f"done {name}")


def run() -> None:
    threads = [threading.Thread(target=write, args=(thread,)) for thread in THREADS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if FAILED:
        sys.exit("; ".join(FAILED))


def check() -> None:
    names = [f"{thread}{number}" for thread in THREADS for number in range(FILES)]
    if [load(name, "") for name in names] != names:
        sys.exit("a file is missing or wrong")
    print(names)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
