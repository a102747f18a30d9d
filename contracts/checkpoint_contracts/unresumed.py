"""Which crash states are looked at as they are, before they are resumed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Fault
from checkpoint_contracts.ids import (
    DONE_SURVIVES_POWER_LOSS,
    HANDOFF_TELLS_NEXT,
    RESUME_KEEPS_WORK,
)
from checkpoint_contracts.keeps_work import in_last_quarter

ACKNOWLEDGES_EXIT: Final = "acknowledges-exit"
"""The capability: exit 0 of the run means that its result is durable."""


def after_exit(point: CrashPoint) -> bool:
    """Whether the power was lost when the job had exited."""
    return point.fault is Fault.POWER_LOSS and point.step == point.total_steps


def wants_unresumed_check(
    point: CrashPoint,
    equal_steps: tuple[int, ...] = (),
    capabilities: Collection[str] = (),
    contracts: Collection[str] | None = None,
) -> bool:
    """Whether some contract needs the check on the un-resumed state of this point.

    ``capabilities``: the subject's; ``contracts``: the ids of those that are judged, None: all.

    ``resume-keeps-work`` asks whether the result was there already, in the last quarter of the run.
    ``done-survives-power-loss`` asks whether it survived, after an exit that acknowledged it.
    """

    def judged(contract: str) -> bool:
        return contracts is None or contract in contracts

    if ACKNOWLEDGES_EXIT in capabilities and after_exit(point):
        return judged(DONE_SURVIVES_POWER_LOSS)
    return judged(RESUME_KEEPS_WORK) and in_last_quarter(point, equal_steps)


def wants_handoff(point: CrashPoint, contracts: Collection[str] | None = None) -> bool:
    """Whether the handoff of a subject that has one is to be read on the un-resumed state."""
    return point.fault is Fault.KILL and (contracts is None or HANDOFF_TELLS_NEXT in contracts)
