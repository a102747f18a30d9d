"""How the work is to be done, as far as the user decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the user wants the work done."""

    uploads: int = 4
    """Threads; 0: one batch at a time and no threads: every run makes the same calls."""
    grace_s: float = 0.0
    """So long what is extracted may take to be stored after a signal; 0: it is abandoned."""
    keeps_not_finite: bool = False
