"""A few experiments that started warm and ended well, made again with fresh processes.

What a warm start shows to be broken is replayed in fresh processes anyhow. What it shows to be
sound would be believed: so a sample of that is made again too, and must end the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Experiment

SAMPLE: Final = 3


@dataclass(slots=True)
class Sample:
    """Of all that were offered, :data:`SAMPLE` of equal chance each, by a seed."""

    seed: int
    _kept: list[tuple[Experiment, Callable[[], Experiment]]] = field(default_factory=list)
    _offered: int = 0

    def offer(self, made: Experiment, again: Callable[[], Experiment]) -> None:
        """``again``: makes it with fresh processes."""
        if not made.resume.succeeded:
            return
        self._offered += 1
        if len(self._kept) < SAMPLE:
            self._kept.append((made, again))
            return
        place = random.Random(f"{self.seed} {self._offered}").randrange(self._offered)
        if place < SAMPLE:
            self._kept[place] = (made, again)

    def unlike(self) -> CrashPoint | None:
        """The first that ends otherwise in two fresh starts, which agree; None: there is none."""
        for made, again in self._kept:
            fresh = _ending(again())
            if fresh != _ending(made) and fresh == _ending(again()):
                return made.point
        return None


def _ending(experiment: Experiment) -> tuple[object, ...]:
    """What must be the same."""
    resume, check = experiment.resume, experiment.check
    return (
        (resume.exit_code, resume.signal, resume.timed_out),
        None if check is None else (check.exit_code, check.signal, check.output),
        experiment.events_after,
        experiment.effects_after,
        experiment.output_changes,
        experiment.objects,
    )
