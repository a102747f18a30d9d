"""Whether the process that beats is there, as far as this machine can tell."""

from __future__ import annotations

import enum
import os

from checkpoint_runtime.liveness import beater
from checkpoint_runtime.liveness.beat import Who, pid_namespace
from checkpoint_runtime.liveness.frozen import is_frozen
from checkpoint_runtime.processes import boot_id


class Presence(enum.Enum):
    """``.value`` says it in words."""

    THERE = "its process is there"
    STOPPED = "its process is stopped (SIGSTOP, Ctrl-Z, a debugger)"
    FROZEN = "its process is frozen (a paused container?)"
    GONE = "its process is gone"
    REUSED = "its process is gone, and its number is another one's now"
    REBOOTED = "its machine has been started again since"
    UNKNOWN = "its process cannot be seen from here"

    @property
    def is_dead(self) -> bool:
        """Whether this process will not beat any more: all that is there to tell says so."""
        return self in (Presence.GONE, Presence.REUSED, Presence.REBOOTED)


def presence_of(who: Who) -> Presence:
    """Look, once."""
    if not who.boot_id or who.boot_id != boot_id():
        # Or it is another machine that somebody gave the same name: then it will beat again.
        same = who.boot_id and boot_id() and who.host == os.uname().nodename
        return Presence.REBOOTED if same else Presence.UNKNOWN
    if not who.pid_namespace or who.pid_namespace != pid_namespace():
        return Presence.UNKNOWN
    try:
        found = beater.look(who.pid)
    except OSError:
        return Presence.UNKNOWN
    if found is None:
        return Presence.UNKNOWN if _is_hidden(who.pid) else Presence.GONE
    state, start_ticks = found
    if start_ticks != who.start_ticks:
        return Presence.REUSED
    if state in beater.ENDED:
        return Presence.GONE
    if state in beater.SUSPENDED:
        return Presence.STOPPED
    return Presence.FROZEN if is_frozen(who.pid) else Presence.THERE


def _is_hidden(pid: int) -> bool:
    """Whether there is a process of that number that ``/proc`` does not show us (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
