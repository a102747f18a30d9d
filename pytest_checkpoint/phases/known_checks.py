"""What the check has said of a state already: most resumes end in the same few states.

Two states are equal when names, types, modes, links, content and events are, as everywhere in the
kit. That says all only as long as the job keeps everything in what is recorded: once it connects to
somebody, or writes a file elsewhere, every check is made. Looking at a tree can also take longer
than the check itself; where it does not pay it is given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.states.timeline import State

_TRIED_FIRST: Final = 16
"""So many looks are spent before it is asked whether they pay."""


class KnownChecks:
    """Of one subject in one slot: what each check said, by the key of the state that it was of."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bool], Execution] = {}
        self.encloses = True
        """The job has kept to what is recorded so far."""
        self._looks = 0
        self._spent_s = 0.0
        self._saved_s = 0.0

    def note(self, result: Result) -> None:
        """An execution of the job under the filter: does it keep to what is recorded?"""
        if result.reaches_out or result.created_outside:
            self.encloses = False

    def made(
        self, look: Callable[[], State], check: Callable[[], Execution], *, warm: bool
    ) -> Execution:
        """The check of what lies there now: a known one, or made now.

        ``warm``: it may start warm. What such a one said stands for no fresh one.
        """
        if not self._pays:
            return check()
        begun = time.monotonic()
        key = look().key, warm
        self._looks += 1
        self._spent_s += time.monotonic() - begun
        known = self._known.get(key)
        if known is not None:
            self._saved_s += known.wall_s
            return known
        execution = check()
        if execution.usable and execution.exit_code is not None:
            self._known[key] = execution
        return execution

    @property
    def _pays(self) -> bool:
        if not self.encloses:
            return False
        return self._looks < _TRIED_FIRST or self._saved_s > self._spent_s
