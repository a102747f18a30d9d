"""The processes below the launcher: who they are, and how they are signalled.

Standard library only, as all of the launcher.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36


def become_subreaper() -> None:
    """Whoever loses its parent below us becomes our child."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def below(top: int | None = None) -> dict[int, bytes]:
    """All processes below this one by /proc, each with the letter of its state.

    ``top``: only this one of them, and those below it.
    """
    states: dict[int, bytes] = {}
    children: dict[int, list[int]] = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        fields = stat_of(int(number))
        if fields:
            states[int(number)] = fields[0]
            children.setdefault(int(fields[1]), []).append(int(number))
    mine = os.getpid()
    found = {} if top in (None, mine) else {top: states[top]} if top in states else {}
    queue = [mine if top is None else top]
    while queue:
        for process in children.get(queue.pop(), []):
            found[process] = states[process]
            queue.append(process)
    return found


def stat_of(process: int) -> list[bytes]:
    """Fields of /proc/PID/stat after the name, the state first; none if it has gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def name(process: int) -> str:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()[:80]
    except (FileNotFoundError, ProcessLookupError):
        return "ended just now"


def send(process: int, number: int) -> None:
    """A signal, unless the process has gone: its number may be somebody else's then."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        if process in below():
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
