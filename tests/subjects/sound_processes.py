"""Three processes that write three files each, temp file + rename, at the same time; their parent
adds up what they left. Sound.
"""

from __future__ import annotations

import os
import sys

PROCESSES = "123"
FILES = 3


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


def write(process: str) -> None:
    for number in range(FILES):
        name = f"{process}{number}"
        if os.path.exists(name):
            continue
        event(f"start {name}")
        save(name, name)
        event(f"done {name}")


def run() -> None:
    children = []
    for process in PROCESSES:
        child = os.fork()
        if not child:
            write(process)
            os._exit(0)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        sys.exit("a child failed")
    if not os.path.exists("sum"):
        names = [f"{process}{number}" for process in PROCESSES for number in range(FILES)]
        save("sum", str(sum(int(load(name, "")) for name in names)))


def check() -> None:
    names = [f"{process}{number}" for process in PROCESSES for number in range(FILES)]
    if [load(name, "") for name in names] != names:
        sys.exit("a file is missing or wrong")
    print(load("sum", "no sum"))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
