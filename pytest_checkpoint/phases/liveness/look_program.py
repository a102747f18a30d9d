"""Looks at a heartbeat file, and says one word of it.

A program, run by its path as ``python -I -S -B look_program.py WORKSPACE GLOB STALE_AFTER_S``:
standard library only, nothing of the kit is imported. It says ``alive`` as soon as a file that the
glob means is not as it was at its first look (its bytes, its time of change), ``waiting`` if there
is none, and ``stale`` when nothing has changed for so long.
"""

from __future__ import annotations

import glob
import os
import select
import sys
import time
from typing import Final

_POLLS: Final = 40
"""Looks within the time after which it is stale."""
_MOST_BYTES: Final = 1 << 20


def looked(workspace: str, pattern: str) -> dict[str, tuple[int, bytes]]:
    """What is there now: path → time of change, and content."""
    found: dict[str, tuple[int, bytes]] = {}
    paths = glob.glob(pattern, root_dir=workspace, recursive=True, include_hidden=True)
    for path in paths:
        try:
            with open(os.path.join(workspace, path), "rb") as file:
                found[path] = (os.fstat(file.fileno()).st_mtime_ns, file.read(_MOST_BYTES))
        except OSError:
            continue  # it is being replaced, or is a directory
    return found


def word(workspace: str, pattern: str, stale_after_s: float) -> str:
    before = looked(workspace, pattern)
    every_s = stale_after_s / _POLLS
    idle = select.poll()
    begun = last = time.monotonic()
    while True:
        idle.poll(every_s * 1000)
        now = looked(workspace, pattern)
        if now != before:
            return "alive"
        moment = time.monotonic()
        # What could not be looked at, because we did not get to run, is no time without a change.
        begun += max(0.0, moment - last - 5 * every_s)
        last = moment
        if moment - begun >= stale_after_s:
            return "stale" if now else "waiting"


if __name__ == "__main__":
    sys.stdout.write(word(sys.argv[1], sys.argv[2], float(sys.argv[3])) + "\n")
