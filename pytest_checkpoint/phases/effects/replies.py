"""Of which requests of the run the reply is lost: first, last and middle ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.faults import LostReply
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.record.receiver.arrivals import ARRIVE
from pytest_checkpoint.states.order import spread

MOST: Final = 8
"""Unless all are wanted."""


def planned_replies(
    operations: Sequence[Operation], *, exhaustive: bool
) -> tuple[list[PlannedFault], int]:
    """In the order in which to try them; and how many there are in all."""
    arrivals = [one for one in operations if one.call == ARRIVE]
    places = spread(len(arrivals))
    wanted = places if exhaustive else places[:MOST]
    total = len(operations)
    return [_lost(arrivals[index], index + 1, total) for index in wanted], len(arrivals)


def find_reply(operations: Sequence[Operation], step: int, variant: str) -> PlannedFault | None:
    planned, _ = planned_replies(operations, exhaustive=True)
    found = (one for one in planned if (one.point.step, one.point.variant) == (step, variant))
    return next(found, None)


def _lost(operation: Operation, arrival: int, total: int) -> PlannedFault:
    words = f"the reply is lost at step {operation.step} ({describe(operation)})"
    kind = TrialKind.LOST_REPLY
    return PlannedFault(
        kind=kind,
        point=point(
            kind,
            operation.step,
            kind.value,
            words,
            f"the reply is lost at {signature(operation)}",
            total,
        ),
        action=LostReply(arrival=arrival),
        covers=words,
    )
