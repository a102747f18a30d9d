"""Hangs that were none: a replay with a longer deadline ended, and is judged as it ended.

A resume that waits for a lock lease to run out passes its deadline and would still go on well. Its
replay has more time; if it ends by then, it takes the place of the experiment that hung.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checkpoint_contracts.evidence import CrashPoint, Evidence, Execution, Experiment, Trial
from checkpoint_contracts.table import gap
from checkpoint_contracts.verdict import Symptom
from checkpoint_contracts.wording import place


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowEnd:
    """An experiment or a trial that passed its deadline and ended when it was given more time."""

    point: CrashPoint
    symptom: Symptom
    """How it looked at first: a hang of the resume, or of the check."""
    took_s: float
    exits_zero: bool
    told: str = ""
    """Of a trial: what was slow."""

    @property
    def note(self) -> str:
        if self.told:
            return self.told
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
    trials = tuple(_settled_trials(evidence, slow))
    return replace(evidence, experiments=tuple(experiments), trials=trials), tuple(slow)


def _settled_trials(evidence: Evidence, slow: list[SlowEnd]) -> Iterator[Trial]:
    """Of the trials with a fault placed in the run; the others have had the longer deadline."""
    replays = {replay.point: replay for replay in evidence.trial_replays}
    for trial in evidence.trials:
        replay = replays.get(trial.point)
        if trial.shown is None or not trial.hung or replay is None or replay.hung:
            yield trial
            continue
        yield replay
        took_s = max(leg.execution.wall_s for leg in replay.legs)
        slow.append(
            SlowEnd(
                point=trial.point,
                symptom=_hang_of(trial),
                took_s=took_s,
                exits_zero=replay.legs[-1].execution.succeeded,
                told=f"{trial.point.operation}: it ends after {took_s:.1f} s",
            )
        )


def _hang_of(trial: Trial) -> Symptom:
    check = trial.check
    return Symptom.CHECK_HANG if check is not None and check.timed_out else Symptom.HANG


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
