"""Ways that take turns, so that what the machine does meanwhile meets them all alike."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

WARM_UP = 1
"""A round that is not counted."""


@dataclass(frozen=True, slots=True)
class Took:
    """Of one turn."""

    wall_s: float
    cpu_s: float
    """Of this process, all its threads."""


def measured(act: Callable[[], object]) -> Took:
    cpu_s, begun_s = time.process_time(), time.perf_counter()
    act()
    return Took(time.perf_counter() - begun_s, time.process_time() - cpu_s)


def in_turn(
    ways: Mapping[str, Callable[[], Took]], rounds: int, seed: int = 0
) -> dict[str, list[Took]]:
    """Each way once per round, in another order each time."""
    took: dict[str, list[Took]] = {name: [] for name in ways}
    order = random.Random(seed)
    for number in range(rounds + WARM_UP):
        for name in order.sample(list(ways), len(ways)):
            turn = ways[name]()
            if number >= WARM_UP:
                took[name].append(turn)
    return took


def wall_s(turns: list[Took]) -> float:
    """The median."""
    return statistics.median(turn.wall_s for turn in turns)


def cpu_s(turns: list[Took]) -> float:
    """The median."""
    return statistics.median(turn.cpu_s for turn in turns)
