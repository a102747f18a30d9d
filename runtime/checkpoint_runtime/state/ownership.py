"""Which run may add to a state log: the one that began last.

One run at a time works in a workspace (:mod:`checkpoint_runtime.exclusion.lock`). Where that lock
is lost, its file removed by hand say, a run that was stopped may wake up beside a newer one. What
keeps it from doing harm, for each thing that it might still write:

* A line of the log. Each begins with the checksum of the line before it, so that of two runs that
  go on from the same line one is first, and the other's does not fit. An older run finds before it
  writes that a newer one has written, and ends. To look and to write are one act: the file itself
  is locked for that moment. On a file system that keeps no locks its line gets into the file all
  the same, and whoever reads it takes it for what it is (:mod:`checkpoint_runtime.state.lines`).
* A line that it takes back after an error: within that same act.
* A file beside the log, and scratch: their names hold the token of the run that makes them. No run
  removes those of a newer one, and none is believed that no line names.
* The handoff: made anew from the log with the next commit, and by the next run if it is not in step
  with it. No run reads it to go on.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from checkpoint_runtime.errors import DamagedStateError, TakenOverError
from checkpoint_runtime.state import lines


@contextmanager
def alone(descriptor: int) -> Iterator[None]:
    """Within this no other run adds to a log, or finds out what it would add to.

    :raises BlockingIOError: another one is about to.
    """
    locked = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        raise
    except OSError:
        locked = False  # there are no locks here: that one run works here has been seen to
    try:
        yield
    finally:
        if locked:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def owner_record(token: int) -> dict[str, Any]:
    """How a record says that this process owns the log from here on."""
    return {"token": token, "pid": os.getpid(), "host": os.uname().nodename}


def late_since(data: bytes, path: Path, known: int, first: bytes) -> int | None:
    """How many lines of older runs stand in a log behind those known; None: something else does.

    :param known: how many lines there were.
    :param first: line of the log.
    :raises TakenOverError: a newer run has added something.
    """
    try:
        found = lines.parse(data, first, path)
    except DamagedStateError:
        return None
    if len(found.bodies) > known:
        raise TakenOverError(path, _last_owner(found))
    late = sum(number > known for number in found.late)
    return late if data.count(b"\n") == known + late and data.endswith(b"\n") else None


def _last_owner(found: lines.Lines) -> str:
    owner: Any = {}
    for record in found.records():
        owner = record.get("owner", owner)
    if not isinstance(owner, dict):
        owner = {}
    return f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
