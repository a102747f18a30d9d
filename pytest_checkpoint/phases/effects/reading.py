"""The effects file in the words of the evidence."""

from __future__ import annotations

from checkpoint_contracts.evidence import Effect
from pytest_checkpoint.record.receiver.message import messages


def effects_of(log: bytes) -> tuple[Effect, ...]:
    """Every line of an effects file, or of the end of one."""
    return tuple(
        Effect(
            kind=one.kind,
            id=one.id,
            problem=one.problem and f"what was sent says nothing: {one.problem}",
        )
        for one in messages(log)
    )
