"""Runs of the subject with a fault that answers: a stage that raises, a disk that is full.

A crash state is derived from the recording; what a job does about a stage that fails can only be
seen by letting it fail. A trial is a few executions in one workspace, the *legs*, and a check.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from checkpoint_contracts.bucket import StoredObject, StoreRequest, Tampered
from checkpoint_contracts.crash_point import CrashPoint, Fault
from checkpoint_contracts.execution import Execution
from checkpoint_contracts.heartbeat import Watch
from checkpoint_contracts.observations import Effect
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.staged import Staged


class TrialKind(enum.StrEnum):
    """What is tried; of a stage or a change, the beginning of its :attr:`CrashPoint.variant`."""

    RAISES_ONCE = "raises-once"
    RAISES_ALWAYS = "raises-always"
    KILLED_ALWAYS = "killed-always"
    CHANGED = "changed"
    NO_SPACE = "no-space"
    """The run finds the disk full (``0.room-17``, ``0.room-17-edquot``, ``0.inodes-3``)."""
    IO_ERROR = "io-error"
    """A call of the run fails, or is cut short (``41.eio``, ``41.short``, ``41.erofs-on``)."""
    FAILED_SYNC = "failed-sync"
    """A sync of the run fails, and later the power (``41.eio+57.power-loss-…``)."""
    SIGNALLED = "signalled"
    """The run is told to end, and has time for it (``41.sigterm``)."""
    GRACE_TOO_SHORT = "grace-too-short"
    """The same, and it is killed before the time is over (``41.sigterm+44.kill``)."""
    CRASH_LOOP = "crash-loop"
    """The run and resume after resume are killed at one operation (``41.crash-loop``)."""
    LOST_REPLY = "lost-reply"
    """An effect of the run arrives, and its sender never hears of it (``41.lost-reply``)."""
    TWO_SENDERS = "two-senders"
    """The job is started twice at once, and both may send (``0.two-senders-3``)."""
    BYSTANDER = "bystander"
    """A resume beside files and a process that look like the job's own (``41.bystander``)."""
    SECOND_START = "second-start"
    """The job is started again while it stands (``41.second-start-after``, ``41.second-resume-…``:
    the resume command, where that is another)."""
    SAME_INSTANT = "same-instant"
    """It is started twice at once (``0.same-instant-3``: for the third time)."""
    DEAD_HOLDER = "dead-holder"
    """It is killed, and resumed (``41.dead-holder``)."""
    NUMBER_REUSED = "number-reused"
    """The same, and another process has its number then (``41.number-reused``)."""
    STOPPED = "stopped"
    """The run is stopped for a while, and watched (``41.stopped``)."""
    DEAD = "dead"
    """The run is killed, and watched (``41.dead``)."""
    REUSED = "reused"
    """The run is killed, another process gets its number, and it is watched (``41.reused``)."""
    HELD = "held"
    """A call of the run takes long, and it is watched (``41.held``)."""
    SLOW_CALLS = "slow-calls"
    """Every call of the run takes longer, and it is watched (``0.slow-calls``)."""
    LOADED = "loaded"
    """The run has hardly any CPU, and is watched (``0.loaded``)."""
    CLOCK_SET = "clock-set"
    """The run has another wall clock than its watcher, and is watched (``0.clock-set``)."""
    BLOCKED = "blocked"
    """The work of the run waits within a call, and it is watched (``41.blocked``)."""
    STAGING_FULL = "staging-full"
    """The run finds its staging full (``0.staging-17``, ``0.staging-inodes-3``)."""
    STAGING_GONE = "staging-gone"
    """The run is killed, its staging is emptied, and it is resumed (``41.staging-gone``)."""
    STAGING_LEFT = "staging-left"
    """The run is killed when its staging is fullest, and resumed (``41.staging-left``)."""
    STORE_HEALTHY = "store-healthy"
    """The run is recorded once more, and its staging measured (``0.store-healthy``)."""
    STORE_SLOW = "store-slow"
    """The same, and every upload takes long (``0.store-slow``)."""
    STORE_STALLED = "store-stalled"
    """The same, and no upload is ever answered (``0.store-stalled``)."""
    STORE_RECOVERS = "store-recovers"
    """The same, and the first uploads are not answered (``0.store-recovers``)."""
    SHARDS_TOGETHER = "shards-together"
    """Two shards at the same instant (``0.shards-together-2``: for the second time)."""
    SHARDS_IN_TURN = "shards-in-turn"
    """Three shards, one after the other (``0.shards-in-turn``)."""
    SHARD_KILLED = "shard-killed"
    """One of two is killed; then three, one after the other (``41.shard-killed``)."""

    STORE_LIES = "store-lies"
    """An upload is answered well, and not stored so (``41.store-lies-silent-success``)."""
    STORE_SIGNALLED = "store-signal"
    """The run is told to end while it uploads (``41.store-signal-sigint``)."""
    STORE_FAILS_ONCE = "store-fails-once"
    """An upload of the run fails once (``41.store-fails-once-slow-down``)."""
    STORE_FAILS = "store-fails"
    """An upload of the run fails, however often it is tried (``41.store-fails-slow-down``)."""
    STORE_REFUSES = "store-refuses"
    """An upload of the run is refused for good (``41.store-refuses-forbidden``)."""
    RECONCILED = "reconciled"
    """A finished job whose bucket was changed is reconciled (``41.reconciled-lost``)."""

    @property
    def fault(self) -> Fault:
        return _FAULTS[self]


_FAULTS = {
    TrialKind.RAISES_ONCE: Fault.STAGE_RAISES,
    TrialKind.RAISES_ALWAYS: Fault.STAGE_RAISES,
    TrialKind.KILLED_ALWAYS: Fault.STAGE_KILLED,
    TrialKind.CHANGED: Fault.CHANGED,
    TrialKind.NO_SPACE: Fault.NO_SPACE,
    TrialKind.IO_ERROR: Fault.IO_ERROR,
    TrialKind.FAILED_SYNC: Fault.IO_ERROR,
    TrialKind.SIGNALLED: Fault.SIGNAL,
    TrialKind.GRACE_TOO_SHORT: Fault.SIGNAL,
    TrialKind.CRASH_LOOP: Fault.CRASH_LOOP,
    TrialKind.LOST_REPLY: Fault.LOST_REPLY,
    TrialKind.TWO_SENDERS: Fault.DOUBLE_START,
    TrialKind.BYSTANDER: Fault.BYSTANDER,
    TrialKind.SECOND_START: Fault.DOUBLE_START,
    TrialKind.SAME_INSTANT: Fault.DOUBLE_START,
    TrialKind.DEAD_HOLDER: Fault.DOUBLE_START,
    TrialKind.NUMBER_REUSED: Fault.DOUBLE_START,
    TrialKind.STOPPED: Fault.FROZEN,
    TrialKind.DEAD: Fault.FROZEN,
    TrialKind.REUSED: Fault.FROZEN,
    TrialKind.HELD: Fault.SLOWED,
    TrialKind.SLOW_CALLS: Fault.SLOWED,
    TrialKind.LOADED: Fault.SLOWED,
    TrialKind.CLOCK_SET: Fault.SLOWED,
    TrialKind.BLOCKED: Fault.BLOCKED,
    TrialKind.STORE_LIES: Fault.STORE_LIES,
    TrialKind.STORE_SIGNALLED: Fault.SIGNAL,
    TrialKind.STORE_FAILS_ONCE: Fault.STORE_FAILS,
    TrialKind.STORE_FAILS: Fault.STORE_FAILS,
    TrialKind.STORE_REFUSES: Fault.STORE_FAILS,
    TrialKind.RECONCILED: Fault.STORE_CHANGED,
    TrialKind.STAGING_FULL: Fault.STAGING_FULL,
    TrialKind.STAGING_GONE: Fault.STAGING_GONE,
    TrialKind.STAGING_LEFT: Fault.STORE_SLOW,
    TrialKind.STORE_HEALTHY: Fault.STORE_SLOW,
    TrialKind.STORE_SLOW: Fault.STORE_SLOW,
    TrialKind.STORE_STALLED: Fault.STORE_SLOW,
    TrialKind.STORE_RECOVERS: Fault.STORE_SLOW,
    TrialKind.SHARDS_TOGETHER: Fault.SHARDS,
    TrialKind.SHARDS_IN_TURN: Fault.SHARDS,
    TrialKind.SHARD_KILLED: Fault.SHARDS,
}


class Command(enum.StrEnum):
    """What was executed in a leg."""

    RUN = "run"
    RESUME = "resume"
    CHANGED = "changed pipeline"
    """A changed pipeline as the resume."""
    RECONCILE = "reconciliation"
    """The command that compares markers with the bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One execution of a trial."""

    command: Command
    execution: Execution
    events: tuple[str, ...] = ()
    """Lines that it appended to the events file."""
    effects: tuple[Effect, ...] = ()
    """What it sent, where that is declared."""
    requests: tuple[StoreRequest, ...] = ()
    """What it asked of the object store, where that is declared."""
    objects: tuple[StoredObject, ...] = ()
    """What the store held after it."""
    markers: tuple[str, ...] = ()
    """The declared markers that stood after it: paths in the workspace, keys of the bucket."""
    killed: bool = False
    """The kit killed it, since it had said the line that the trial waits for."""

    @property
    def stopped(self) -> bool:
        """Whether it ended by itself, and not with exit 0."""
        return not (self.killed or self.execution.timed_out or self.execution.succeeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a fault showed in the run that it was placed in."""

    step: int | None = None
    """Of that run: the first operation that failed or was cut short; that after which the signal
    was sent. None: the fault did not fire."""
    drift: str = ""
    """How the way up to the fault differs from the recording, a sentence; empty: it does not."""
    grace_over: bool = False
    """It had not ended when the time after the signal was over, and was killed."""
    number: int = 0
    """The signal that was sent."""
    real: bool = False
    """On a file system of that size; else by a quota that the kit keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A fault of a run, or a change of the pipeline, and what the job made of it."""

    point: CrashPoint
    kind: TrialKind
    stage: str = ""
    """The stage that fails or is killed; of a change: empty."""
    variant: int = 0
    """Of a change: the number of the :class:`Variant`, from 1."""
    limit: int = 0
    """How often the stage may be started in one leg, or be killed, before that is endless."""
    events_before: tuple[str, ...] = ()
    """Lines of the events file before the first leg."""
    legs: tuple[Leg, ...]
    """In order, at least one."""
    check: Execution | None = None
    """After the last leg, if that ended with exit 0. Where the run did, and was resumed all the
    same to see what it starts again: before that resume."""
    unspoilt: tuple[Leg, ...] = ()
    """Where the resume after a refusal ended badly: the same resume without the refusal before.
    Where it did after a power loss: the same after the same loss, had the sync succeeded, or, where
    that runs the very same stages again, right before the sync. Where it did after a death: the
    same while nobody has the dead one's number."""
    unspoilt_check: Execution | None = None
    shown: Shown | None = None
    """Of a fault that was placed in the run: full disk, error, signal."""
    lost: tuple[str, ...] = ()
    """What a power loss after it took, in words."""
    unresumed_check: Execution | None = None
    """After a power loss after exit 0, where that acknowledges: the check before the resume."""
    leftovers: tuple[int, ...] = ()
    """Of kills in a row: how many names lay there after each that a finished job does not have."""
    harmed: tuple[str, ...] = ()
    """Of what had been put beside the job: what the resume did to it, in words."""
    litter: tuple[str, ...] = ()
    """Those that lay there when the job was finished after all."""
    pair: Pair | None = None
    """The second start, where there was one beside the first leg."""
    tampered: Tampered | None = None
    """What was done to the bucket and the markers before the first leg."""
    watch: Watch | None = None
    """What its heartbeat said meanwhile, where somebody watched it."""
    staging: Staged | None = None
    """What lay in the staging meanwhile, where that was looked at."""
    shards: int = 0
    """How many shards were started one after the other, where some were."""

    @property
    def hung(self) -> bool:
        """Whether an execution passed its deadline."""
        executions = [leg.execution for leg in self.legs]
        return any(one is not None and one.timed_out for one in (*executions, self.check))


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A changed pipeline, run undisturbed in a fresh workspace: what its resume is held against."""

    number: int
    """From 1, in the order in which they were declared."""
    command: str
    """As one would type it."""
    run: Execution
    check: Execution
    events: tuple[str, ...]
    other_events: tuple[str, ...] | None = None
    """Of another undisturbed run of it: a stage that is not in both is there by chance. None: not
    known."""
