"""Hangs that were none: a replay with a longer deadline ended, and is judged as it ended.

A resume that waits for a lock lease to run out passes its deadline and would still go on well. Its
replay has more time; if it ends by then, it takes the place of the experiment that hung.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkpoint_contracts.evidence import CrashPoint, Evidence, Execution, Experiment
from checkpoint_contracts.table import gap
from checkpoint_contracts.verdict import Symptom
from checkpoint_contracts.wording import place


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowEnd:
    """An experiment that passed its deadline and ended when it was given more time."""

    point: CrashPoint
    symptom: Symptom
    """How it looked at first: a hang of the resume, or of the check."""
    took_s: float
    exits_zero: bool

    @property
    def note(self) -> str:
        what = "resumes" if self.symptom is Symptom.HANG else "is checked"
        end = "" if self.exits_zero else ", but not with exit 0"
        return f"{place(self.point)}: {what} after {self.took_s:.1f} s{end}"


def settled(evidence: Evidence) -> tuple[Evidence, tuple[SlowEnd, ...]]:
    """The evidence with slow ends in the place of the hangs, and what they were."""
    replays = {replay.point: replay for replay in evidence.replays}
    experiments: list[Experiment] = []
    slow: list[SlowEnd] = []
    for experiment in evidence.experiments:
        replay = replays.get(experiment.point)
        end = _slow_end(experiment, replay) if replay is not None else None
        if replay is None or end is None:
            experiments.append(experiment)
        else:
            experiments.append(
                replace(
                    replay,
                    unresumed_check=experiment.unresumed_check,
                    lost=experiment.lost,
                    missing_syncs=experiment.missing_syncs,
                    missing_kinds=experiment.missing_kinds,
                )
            )
            slow.append(end)
    return replace(evidence, experiments=tuple(experiments)), tuple(slow)


def _slow_end(experiment: Experiment, replay: Experiment) -> SlowEnd | None:
    symptom = _hang(experiment)
    if symptom is None or gap(experiment) is not None or gap(replay) is not None:
        return None
    ended: Execution | None = replay.resume if symptom is Symptom.HANG else replay.check
    if ended is None or ended.timed_out:
        return None
    return SlowEnd(
        point=experiment.point,
        symptom=symptom,
        took_s=ended.wall_s,
        exits_zero=ended.succeeded,
    )


def _hang(experiment: Experiment) -> Symptom | None:
    if experiment.resume.timed_out:
        return Symptom.HANG
    if experiment.check is not None and experiment.check.timed_out:
        return Symptom.CHECK_HANG
    return None
