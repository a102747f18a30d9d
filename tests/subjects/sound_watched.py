"""Four stages; a thread beats, the work counts what is done, and a watcher says how it is.

Each beat holds a counter of its own and the count of the work, and replaces the file. The watcher
looks until the beat changes: that is a sign of life, whatever any clock says; a count that is the
same for longer than a stage ever takes is none of progress. Sound.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

STAGES = "abcd"
BEAT_S = 0.05
STALE_AFTER_S = 0.3
STALLED_AFTER_S = 0.6
STAGE_S = 0.1


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


class Heart(threading.Thread):
    """Beats until the work has ended; ``progress`` is the work's."""

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


def look() -> tuple[str, int, int, float] | None:
    try:
        with open("beat.json") as file:
            state, number, progress, written_s = json.load(file)
            return state, number, progress, written_s
    except FileNotFoundError:
        return None


def watch() -> None:
    """Until it changes, or for as long as it takes; what it saw last time it keeps beside."""
    first = look()
    if first is None:
        print("waiting")
        return
    begun = time.monotonic()
    while first[0] == "running" and time.monotonic() - begun < STALE_AFTER_S:
        time.sleep(BEAT_S / 5)
        now = look()
        assert now is not None
        if now[1] != first[1]:
            print("stalled" if stalled(now[2]) else "alive")
            return
    print("finished" if first[0] == "finished" else "stale")


def stalled(progress: int) -> bool:
    """Whether the work has counted as far for too long, by this watcher's own clock."""
    now = time.monotonic()
    try:
        with open("watcher.json") as file:
            seen, since_s = json.load(file)
    except (FileNotFoundError, ValueError):
        seen, since_s = -1, now
    if seen != progress:
        with open("watcher.json", "w") as file:
            json.dump([progress, now], file)
        return False
    return bool(now - since_s > STALLED_AFTER_S)


def check() -> None:
    print("".join(load()))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check, "watch": watch}[sys.argv[1]]()
