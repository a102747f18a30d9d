"""A file that says, by its lock, that something is in use; whoever holds it removes it in the end.

Processes that find it held, or find none, may come at any moment: one that has just been removed
does not count, though it can still be locked by whoever had opened it before.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def lock_file(path: Path) -> int | None:
    """A descriptor that holds the lock until it is closed; None: another process does.

    OSError where the file can neither be opened nor made.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        if _stands_under(path, lock):
            return lock
        os.close(lock)


def _stands_under(path: Path, lock: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(lock)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
