"""One fault that is to be placed in a run of the job, and its name.

The name is a :attr:`CrashPoint.id`, stable for a recording: ``41.eio``, ``41.short``,
``41.erofs-on`` (from then on), ``41.close-eio``; ``0.room-17``, ``0.room-17-edquot``,
``0.room-17-real``, ``0.inodes-3``; ``41.sigterm``, ``41.sigint``; ``41.crash-loop``;
``41.lost-reply``; ``0.two-senders-2``; ``41.bystander``; ``0.staging-17``; ``41.staging-gone``;
``0.store-slow``; ``0.shards-in-turn``; ``41.shard-killed``. What follows such a fault has ``+`` and
the name of the crash: ``41.sigterm+44.kill``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, TrialKind
from pytest_checkpoint.record.faults import Injection, LostReply, Room, SignalAt
from pytest_checkpoint.record.store.faults import StoreFault

THEN: Final = "+"
KINDS: Final = (
    TrialKind.NO_SPACE,
    TrialKind.IO_ERROR,
    TrialKind.FAILED_SYNC,
    TrialKind.SIGNALLED,
    TrialKind.GRACE_TOO_SHORT,
    TrialKind.CRASH_LOOP,
    TrialKind.LOST_REPLY,
    TrialKind.TWO_SENDERS,
    TrialKind.BYSTANDER,
    TrialKind.STORE_LIES,
    TrialKind.STORE_SIGNALLED,
    TrialKind.STORE_FAILS_ONCE,
    TrialKind.STORE_FAILS,
    TrialKind.STORE_REFUSES,
    TrialKind.RECONCILED,
    TrialKind.STAGING_FULL,
    TrialKind.STAGING_GONE,
    TrialKind.STORE_HEALTHY,
    TrialKind.STAGING_LEFT,
    TrialKind.STORE_SLOW,
    TrialKind.STORE_STALLED,
    TrialKind.STORE_RECOVERS,
    TrialKind.SHARDS_TOGETHER,
    TrialKind.SHARDS_IN_TURN,
    TrialKind.SHARD_KILLED,
)
Action = Injection | Room | SignalAt | LostReply | StoreFault | None
"""None: kills, or what the name says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    kind: TrialKind
    point: CrashPoint
    action: Action
    covers: str = ""
    """What is not covered until one of those with this text was tried; empty: a further one."""


def point(
    kind: TrialKind, step: int, variant: str, operation: str, signature: str, total: int
) -> CrashPoint:
    return CrashPoint(
        fault=kind.fault,
        step=step,
        variant=variant,
        operation=operation,
        signature=signature,
        total_steps=total,
    )


def base_of(point_id: str) -> tuple[str, str]:
    """The name of the fault, and of the crash after it; empty: none.

    >>> base_of("41.sigterm+44.kill"), base_of("41.eio")
    (('41.sigterm', '44.kill'), ('41.eio', ''))
    """
    base, _, then = point_id.partition(THEN)
    return base, then
