"""A thread kept on the core that we run on, for as long as it and we wait for each other.

The kernel wakes whom a notification or its answer concerns on the core where that comes from, if
it is asked to (SYNC_WAKE_UP); whom a descriptor is handed to it wakes on any idle core, and us on
another one then. To wake two idle cores takes longer than all the rest of the call. A thread that
cannot go on before we let it, and may run everywhere again by then, cannot tell.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Set
from typing import Final

_core: Final = ctypes.CDLL(None).sched_getcpu
NOWHERE: Final[Set[int]] = frozenset()


class OneCore:
    """For one supervisor, of which nobody else decides where it runs."""

    def __init__(self) -> None:
        self._ours: Set[int] = os.sched_getaffinity(0)

    def enter(self, thread: int) -> Set[int]:
        """Keep a stopped thread, and us, here; returns what :meth:`leave` is to be given.

        Nothing is kept where that helps nobody or is not allowed: it is only slower.
        """
        if len(self._ours) == 1:
            return NOWHERE
        here = {_core()}
        try:
            theirs = os.sched_getaffinity(thread)
            if not here <= theirs:
                return NOWHERE
            os.sched_setaffinity(0, here)
        except OSError:
            return NOWHERE
        try:
            os.sched_setaffinity(thread, here)
        except OSError:
            os.sched_setaffinity(0, self._ours)
            return NOWHERE
        return theirs

    def leave(self, thread: int, theirs: Set[int]) -> None:
        """Let both run where they could before."""
        if theirs is NOWHERE:
            return
        os.sched_setaffinity(0, self._ours)
        try:
            os.sched_setaffinity(thread, theirs)
        except ProcessLookupError:
            return  # it was killed meanwhile
