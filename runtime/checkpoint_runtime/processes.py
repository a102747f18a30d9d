"""What tells one process from another, and from a later one that was given its number."""

from __future__ import annotations

import functools
from pathlib import Path

_START_FIELD = 22 - 3
"""Of ``/proc/PID/stat``, counted from behind the name, which may hold spaces and brackets."""


def start_ticks(pid: int) -> int | None:
    """When a process was started, in clock ticks since the system was; None: there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return int(stat.rpartition(b")")[2].split()[_START_FIELD])
    except (OSError, ValueError, IndexError):
        return None


@functools.cache
def boot_id() -> str:
    """Which start of the system this is; empty where that is not to be learnt."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
