"""What is ahead, in words, before it begins."""

from __future__ import annotations

from pytest_checkpoint.options import Options


def estimate(count: int, noun: str, one_s: float, options: Options) -> str:
    """``214 states, about 0.4 minutes, cut off after …``: so many, each of ``one_s`` seconds."""
    expected_s, budget_s = count * one_s, options.time_budget_s
    text = f"{count} {noun}{'' if count == 1 else 's'}, about {_duration(expected_s)}"
    if expected_s > budget_s and not options.exhaustive:
        text += f", cut off after {_duration(budget_s)} (--checkpoint-time-budget)"
    return text


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} minutes"
