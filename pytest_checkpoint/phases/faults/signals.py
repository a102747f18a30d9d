"""When a run is told to end, and by which signal."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Final

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.order import spread

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def planned_signals(operations: Sequence[Operation], grace_s: float) -> list[PlannedFault]:
    """Each signal after every operation, in the order in which to try them."""
    places = spread(len(operations))
    return [
        _planned(operations, operations[index], number, grace_s)
        for number in SIGNALS
        for index in places
    ]


def find_signal(
    operations: Sequence[Operation], step: int, variant: str, grace_s: float
) -> PlannedFault | None:
    for number in SIGNALS:
        if variant == number.name.lower() and 1 <= step <= len(operations):
            return _planned(operations, operations[step - 1], number, grace_s)
    return None


def _planned(
    operations: Sequence[Operation], operation: Operation, number: signal.Signals, grace_s: float
) -> PlannedFault:
    words = f"{number.name} after step {operation.step} ({describe(operation)})"
    return PlannedFault(
        kind=TrialKind.SIGNALLED,
        point=point(
            TrialKind.SIGNALLED,
            operation.step,
            number.name.lower(),
            words,
            f"{number.name} after {signature(operation)}",
            len(operations),
        ),
        action=SignalAt(step=operation.step, number=int(number), grace_s=grace_s),
        covers=words,
    )
