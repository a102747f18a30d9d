"""Alive, stale, stalled, finished: what a watcher makes of what it has seen.

How it is judged: only by what the watcher itself saw change, while it watched, on its own clock. No
time that a worker wrote is ever held against one of the watcher's: clocks are set, machines sleep,
and hosts differ. A beat that is old when it is first seen says nothing yet, unless it is certain
that its process is there, or that it is not.

What is seen of a worker falls into a few conditions; the first row of the table that holds is what
is said of it. In words:

* A worker that says how it ended has ended so, whatever became of its process.
* One whose process is certainly gone is stale at once: it will not beat again.
* One that gave no sign of life for the bound is stale: stopped, frozen, on a machine that is gone.
  A sign of life is a beat, or its process, there and able to run. So a worker that cannot write its
  beats any more, on a full disk say, is not called stale by who can see it.
* One that beats, while what it counts as progress did not change for another bound, is stalled. Not
  to be told from a long step without ``advance()``: so it is judged only if it is asked for.
* One that beats, or has only just come into view and is certainly there, is alive.
* Of any other nothing is known yet.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from checkpoint_runtime.liveness.beat import BeatState


class Liveness(enum.StrEnum):
    """What can be said of a worker."""

    WAITING = "waiting"
    """Nothing is known yet: it has not beaten, or has not been seen to."""
    ALIVE = "alive"
    STALE = "stale"
    """It does not beat: it is frozen or gone, and nobody has said that it ended."""
    STALLED = "stalled"
    """It beats, and gets nowhere."""
    FINISHED = "finished"
    FAILED = "failed"
    """It said that it ended with an error."""
    PREEMPTED = "preempted"
    """It said that it was told to end, and did."""

    @property
    def has_ended(self) -> bool:
        """Whether it said itself that it ended."""
        return self in _ENDED.values()

    @property
    def is_incident(self) -> bool:
        """Whether somebody has to see to it, and it will not get better by itself."""
        return self in (Liveness.STALE, Liveness.STALLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a watcher has seen of one worker by now."""

    ended: BeatState | None
    """How its last beat says that it ended."""
    dead: bool
    """Its process is certainly gone."""
    quiet: bool
    """For the bound there was no sign of life."""
    beating: bool
    """There was one."""
    standing: bool
    """It beats, and for the other bound its progress was not seen to change."""


_ENDED: Final = {
    BeatState.FINISHED: Liveness.FINISHED,
    BeatState.FAILED: Liveness.FAILED,
    BeatState.PREEMPTED: Liveness.PREEMPTED,
}

_TABLE: Final = (
    # dead   quiet  beating standing
    ((True, None, None, None), Liveness.STALE),
    ((None, True, None, None), Liveness.STALE),
    ((None, None, True, True), Liveness.STALLED),
    ((None, None, True, None), Liveness.ALIVE),
    ((None, None, None, None), Liveness.WAITING),
)
"""The first row that fits counts; None fits both."""


def judged(seen: Seen) -> Liveness:
    """What is said of a worker of whom that was seen."""
    if seen.ended is not None and seen.ended in _ENDED:
        return _ENDED[seen.ended]
    conditions = (seen.dead, seen.quiet, seen.beating, seen.standing)
    return next(
        liveness
        for wanted, liveness in _TABLE
        if all(one in (None, other) for one, other in zip(wanted, conditions, strict=True))
    )
