"""Four stages; a thread beats, and a watcher says how it is.

Planted fault: nobody reads the beat: that there is one, and that the last word was not "finished",
is enough for the watcher.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

STAGES = "abcd"
BEAT_S = 0.05
STAGE_S = 0.1


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


class Heart(threading.Thread):
    """Beats until the work has ended."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.progress = self.number = 0
        self.beat("running")

    def run(self) -> None:
        while not self.over.wait(BEAT_S):
            self.beat("running")

    def beat(self, state: str) -> None:
        self.number += 1
        with open("beat.tmp", "w") as file:
            json.dump([state, self.number, self.progress, time.monotonic()], file)
        os.replace("beat.tmp", "beat.json")

    def end(self) -> None:
        self.over.set()
        self.join()
        self.beat("finished")


def save(done: list[str]) -> None:
    with open("state.json.tmp", "w") as file:
        json.dump(done, file)
    os.replace("state.json.tmp", "state.json")


def load() -> list[str]:
    try:
        with open("state.json") as file:
            done: list[str] = json.load(file)
            return done
    except FileNotFoundError:
        return []


def run() -> None:
    done = load()
    heart = Heart()
    heart.start()
    for stage in STAGES:
        if stage not in done:
            event(f"start {stage}")
            time.sleep(STAGE_S)  # the work
            done.append(stage)
            save(done)
            heart.progress += 1
            event(f"done {stage}")
    heart.end()


def watch() -> None:
    try:
        with open("beat.json") as file:
            print("alive" if json.load(file)[0] == "running" else "finished")
    except FileNotFoundError:
        print("waiting")


def check() -> None:
    print("".join(load()))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check, "watch": watch}[sys.argv[1]]()
