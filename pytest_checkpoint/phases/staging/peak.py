"""The most that lay in the staging at any moment of a recorded run."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_checkpoint.phases.faults.rooms import ranges_of
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.room.ledger import Ledger
from pytest_checkpoint.tree.image import ROOT


@dataclass(frozen=True, slots=True)
class Peak:
    size_bytes: int
    """Of the data: what a file holds, without its holes, and what was set aside for it."""
    step: int
    """After this operation; 0: before the first."""
    at: str
    """That operation, in words."""


def peak_of(recording: Recording, under: bytes) -> Peak:
    """``under``: the directory, as operations name it. What is moved into it counts."""
    # The whole slot is followed: what comes from outside of the staging is known then.
    ledger = Ledger(recording.start, ROOT, ranges_of(recording.start), lambda _: set(), unit=1)
    names = under.split(b"/")
    peak = Peak(ledger.held_below(names), 0, "setup")
    for operation in recording.operations:
        ledger.after(operation.effects, unnamed=True)
        now = ledger.held_below(names)
        if now > peak.size_bytes:
            peak = Peak(now, operation.step, f"step {operation.step} ({describe(operation)})")
    return peak
