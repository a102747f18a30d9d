"""One stage, written in a `with` block that renames its file at the end.

Planted fault: it does so too when an exception leaves the block, as the one of Ctrl-C does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import IO

STAGES = "a"


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def sync_folder() -> None:
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


@contextlib.contextmanager
def published(path: str) -> Iterator[IO[str]]:
    with open(f"{path}.tmp", "w") as file:
        try:
            yield file
        finally:
            file.flush()
            os.fsync(file.fileno())
            os.replace(f"{path}.tmp", path)
            sync_folder()


def told(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def load() -> dict[str, str]:
    outputs = {}
    for stage in STAGES:
        try:
            with open(stage) as file:
                outputs[stage] = file.read()
        except FileNotFoundError:
            continue
    return outputs


def run() -> None:
    signal.signal(signal.SIGTERM, told)
    for stage in STAGES:
        if os.path.exists(stage):
            continue
        event(f"start {stage}")
        with published(stage) as file:
            for _ in range(3):
                file.write(stage)
                file.flush()
        event(f"done {stage}")


def check() -> None:
    outputs = load()
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
