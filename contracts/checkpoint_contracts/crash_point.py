"""What is done to the subject, and where."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Fault(enum.StrEnum):
    """What was done to the subject. The value is the word of ``--checkpoint-faults``."""

    KILL = "kill"
    TORN = "torn"
    POWER_LOSS = "power-loss"
    STAGE_RAISES = "stage-raises"
    """A stage fails by itself: what ``CHECKPOINT_STAGE_FAULT`` asks of it."""
    STAGE_KILLED = "stage-killed"
    """Every attempt at a stage is killed when it has said that it starts."""
    CHANGED = "changed"
    """Between the crash and the resume the pipeline has become another one."""
    NO_SPACE = "no-space"
    """The disk, or the quota on it, is full: no block, or no inode, is left."""
    IO_ERROR = "io-error"
    """A call fails, or carries out a part of what it was asked for."""
    SIGNAL = "signal"
    """SIGTERM or SIGINT, time to end, and then SIGKILL."""
    CRASH_LOOP = "crash-loop"
    """Killed again and again: the run, and every resume after it."""
    SECOND_CRASH = "second-crash"
    """A resume after a crash crashes too."""
    DOUBLE_START = "double-start"
    """A second start on the same workspace: beside the first, or after the first has died."""
    FROZEN = "frozen"
    """Stopped (SIGSTOP), or killed, while somebody watches the heartbeat."""
    SLOWED = "slowed"
    """A call that takes long, slow calls throughout, a loaded machine; another wall clock."""
    BLOCKED = "blocked"
    """The work waits within a call, and goes no further, while everything else goes on."""
    LOST_REPLY = "lost-reply"
    """What is sent out arrives, and its sender never hears of it."""
    BYSTANDER = "bystander"
    """Beside the job there are files and a process that look like its own, and are not."""
    STAGING_FULL = "staging-full"
    """The staging, a directory with little room of its own, is full."""
    STAGING_GONE = "staging-gone"
    """Between the crash and the resume all that lay in the staging and in TMPDIR has gone."""
    STORE_SLOW = "store-slow"
    """The store takes long, stalls for good, or stalls and recovers, while the staging fills."""
    SHARDS = "shards"
    """The job as several shards: at the same instant, one after the other, one of them killed."""
    STORE_LIES = "store-lies"
    """The object store says that it has stored what it has not, or not so, or says nothing."""
    STORE_FAILS = "store-fails"
    """The object store fails, once or for good, or refuses."""
    STORE_CHANGED = "store-changed"
    """Behind the job's back objects were lost, cut, added, and markers of whole ones lost."""
    DAMAGE = "damage"
    """What was recorded has become something else: cut, emptied, overwritten, swapped."""


CRASHES: Final = frozenset({Fault.KILL, Fault.TORN, Fault.POWER_LOSS})
"""The faults that leave crash states, which are derived from the recording; of the others each is
tried in runs of its own (:mod:`checkpoint_contracts.trial`)."""

RESTORED: Final = CRASHES | {Fault.SECOND_CRASH, Fault.DAMAGE}
"""The faults of which each experiment begins with a state that is restored, and then resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """Where a fault was placed: a step of the recording and what became of that step.

    ``step`` 0 is the moment before the first operation. A kill and a power loss stand *after* the
    operation ``step``; a torn write *within* it. ``operation`` is for people (``rename
    state.json.tmp → state.json``); ``signature`` is the same without what differs from round to
    round (digits, random parts of temporary names), so that one flaw in a loop counts as one cause.
    In a trial ``step`` is that of the stage's first start, and ``operation`` what was done to it.
    Of crash after crash ``step`` is the first crash's, ``variant`` tells the others too
    (``kill+5.kill``) and ``signature`` is the last one's; ``operation`` tells all of them. Of a
    damage ``operation`` says what was damaged, how, and when.
    """

    fault: Fault
    step: int
    variant: str
    operation: str
    signature: str
    total_steps: int

    @property
    def id(self) -> str:
        """``41.kill``, ``41.torn-128``: stable within a recording; used in replay commands."""
        return f"{self.step}.{self.variant}"

    @property
    def position(self) -> float:
        """0.0 before the first operation, 1.0 after the last."""
        return self.step / self.total_steps if self.total_steps else 1.0
