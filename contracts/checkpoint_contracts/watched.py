"""What the contracts on heartbeats have in common."""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, TrialKind

_AT_AN_OPERATION: Final = (TrialKind.STOPPED, TrialKind.DEAD, TrialKind.HELD, TrialKind.BLOCKED)
TOO_SHORT: Final = (
    "the undisturbed run wrote no event line between the first and the last beat that was seen "
    "(and where it writes none: did nothing else): let it go on for longer, or beat sooner"
)
"""A doubt of :class:`Coverage`: there was no operation at which to try it."""


def too_short(evidence: Evidence) -> tuple[str, ...]:
    """That there was no operation at which to try what is tried while beats are seen."""
    known = (evidence.trial_coverage.get(kind) for kind in _AT_AN_OPERATION)
    doubts = (doubt for one in known if one is not None for doubt in one.doubts)
    return tuple(dict.fromkeys(doubts))
