"""A thread kept on the core that we run on, for as long as it and we wait for each other.

The kernel wakes whom a notification or its answer concerns on the core where that comes from, if
it is asked to (SYNC_WAKE_UP); whom a descriptor is handed to it wakes on any idle core, and us on
another one then. To wake two idle cores takes longer than all the rest of the call. A thread that
cannot go on before we let it, and may run everywhere again by then, cannot tell.

We ourselves stay for a little longer, because calls come one after another, and to go and stay
again takes as long as all that is done with the thread.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Set
from typing import Final

_core: Final = ctypes.CDLL(None).sched_getcpu
NOWHERE: Final[Set[int]] = frozenset()
STAY_MOST_S: Final = 0.005
"""Then the scheduler may move us: a core that others want as well is not ours to sit on."""
QUIET_MS: Final = 1
"""Nothing has come for so long: there is no reason to stay."""


class OneCore:
    """For one supervisor, of which nobody else decides where it runs."""

    def __init__(self) -> None:
        self._ours: Set[int] = os.sched_getaffinity(0)
        self._here: Set[int] = NOWHERE
        """Where we stay."""
        self._until = 0.0
        """On the monotonic clock."""

    @property
    def is_kept(self) -> bool:
        """We stay where we are, and :meth:`go` is to be called when nothing comes any more."""
        return self._here is not NOWHERE

    def enter(self, thread: int) -> Set[int]:
        """Keep a stopped thread, and us, here; returns what :meth:`leave` is to be given.

        Nothing is kept where that helps nobody or is not allowed: it is only slower.
        """
        if len(self._ours) == 1:
            return NOWHERE
        theirs = NOWHERE
        try:
            here = self._here or self._stay()
            allowed = os.sched_getaffinity(thread)
            if here <= allowed:
                os.sched_setaffinity(thread, here)
                theirs = allowed
        except OSError:  # it is not allowed, or the thread was killed
            theirs = NOWHERE
        if theirs is NOWHERE:
            self.go()
        return theirs

    def leave(self, thread: int, theirs: Set[int]) -> None:
        """Let the thread run where it could before; and us, if we have stayed long enough."""
        if theirs is NOWHERE:
            return
        here = self._here
        if time.monotonic() >= self._until:
            self.go()
        try:
            if os.sched_getaffinity(thread) == here:  # nobody has moved it meanwhile
                os.sched_setaffinity(thread, theirs)
        except ProcessLookupError:
            return  # it was killed meanwhile

    def _stay(self) -> Set[int]:
        here = {_core()}
        os.sched_setaffinity(0, here)
        self._here, self._until = here, time.monotonic() + STAY_MOST_S
        return here

    def go(self) -> None:
        """Run where we could before."""
        if self._here is not NOWHERE:
            os.sched_setaffinity(0, self._ours)
            self._here = NOWHERE
