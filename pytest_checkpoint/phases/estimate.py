"""What is ahead, in words, before it begins."""

from __future__ import annotations

import math
from collections.abc import Mapping

from checkpoint_contracts.evidence import Coverage, Fault
from pytest_checkpoint.options import Options


def estimate(count: int, noun: str, one_s: float, options: Options) -> str:
    """``214 states, about 0.4 minutes, cut off after …``: so many, each of ``one_s`` seconds."""
    expected_s, budget_s = count * one_s, options.time_budget_s
    text = f"{count} {noun}{'' if count == 1 else 's'}, about {_duration(expected_s)}"
    if expected_s > budget_s and not options.exhaustive:
        text += f", cut off after {_duration(budget_s)} (--checkpoint-time-budget)"
    return text


def all_would_take(
    coverage: Mapping[Fault, Coverage], took_s: float, options: Options
) -> tuple[str, ...]:
    """What it would take to explore every state, where the budget has left some out: a note."""
    explored = sum(one.explored for one in coverage.values())
    unique = sum(one.unique for one in coverage.values())
    hangs = any(one.known_hangs for one in coverage.values())
    if not explored or explored >= unique or hangs or options.exhaustive:
        return ()
    all_s = took_s * unique / explored
    minutes = max(1, math.ceil(all_s / 60 * 1.2))
    note = (
        f"{explored} of {unique} states were explored; all of them take about {_duration(all_s)}: "
        f"--checkpoint-time-budget {minutes}m --checkpoint-max-states {unique}"
    )
    return (note,)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} minutes"
