"""What a resume costs, as a share of what the undisturbed run cost.

Two ratios, never added: user CPU less start-up, and bytes written under the workspace. CPU decides
where it can be judged, else bytes do. Start-up is the larger of the CPU of the run up to its first
operation or event, and the CPU of the resume of the finished job if that wrote nothing. CPU is not
judged where start-up is half of the run's CPU or more, or less than 0.2 s remains: then start-up
and the clock's own noise would decide.

What else a machine does only ever adds to the CPU that a run seems to use. So the undisturbed
run's CPU is the least that was seen of an undisturbed run, and a resume from the untouched start
that does all the run did is one more of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from checkpoint_contracts.evidence import Evidence, Execution, Experiment, Fault, Reference
from checkpoint_contracts.table import ends_well

STARTUP_SHARE: Final = 0.5
SHORTEST_CPU_S: Final = 0.2
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Scale:
    """The undisturbed run's cost, against which resumes are measured."""

    run: Execution
    startup_cpu_s: float

    @property
    def cpu_unjudged(self) -> str | None:
        """Why CPU decides nothing here, or None if it decides."""
        total, startup = self.run.user_cpu_s, self.startup_cpu_s
        if startup >= STARTUP_SHARE * total - _ROUNDING:
            return (
                f"start-up takes {startup:.2f} s of the run's {total:.2f} s of user CPU, half of "
                "it or more"
            )
        if total - startup < SHORTEST_CPU_S - _ROUNDING:
            return (
                f"only {total - startup:.2f} s of user CPU remains after start-up, less than "
                f"{SHORTEST_CPU_S} s"
            )
        return None

    @property
    def unit(self) -> str:
        """What decides, in words."""
        return "user CPU less start-up" if self.cpu_unjudged is None else "bytes written"

    def cpu_ratio(self, resume: Execution) -> float | None:
        """None where CPU is not judged."""
        if self.cpu_unjudged is not None:
            return None
        spent_s = max(0.0, resume.user_cpu_s - self.startup_cpu_s)
        return spent_s / (self.run.user_cpu_s - self.startup_cpu_s)

    def byte_ratio(self, resume: Execution) -> float | None:
        """None if the run wrote no bytes."""
        return share(resume.bytes_written, self.run.bytes_written)

    def ratio(self, resume: Execution) -> float | None:
        """The ratio that decides; None if neither can be judged."""
        if self.cpu_unjudged is None:
            return self.cpu_ratio(resume)
        return self.byte_ratio(resume)


def scale_of(reference: Reference) -> Scale:
    """The scale of an undisturbed run."""
    startup_s = reference.run.startup_cpu_s
    finished = reference.finished_resume
    if finished.bytes_written == 0 and finished.operations == 0:
        startup_s = max(startup_s, finished.user_cpu_s)
    return Scale(reference.run, startup_s)


def nearest_reference(evidence: Evidence) -> Reference | None:
    """The reference, with the least user CPU that was seen of an undisturbed run.

    Unchanged where CPU is not judged, or would not be any more: resumes may have started warm
    there, without the start-up, and what decides does not change with what was explored.
    """
    reference = evidence.reference
    if reference is None:
        return None
    whole_runs = [
        experiment.resume.user_cpu_s
        for experiment in evidence.experiments
        if _from_the_start(experiment)
        and repeats_all_it_did(experiment.resume, reference.run, 1.0)
        and ends_well(experiment, reference)
    ]
    least_s = min((reference.run.user_cpu_s, *whole_runs))
    nearest = replace(reference, run=replace(reference.run, user_cpu_s=least_s))
    return nearest if scale_of(nearest).cpu_unjudged is None else reference


def _from_the_start(experiment: Experiment) -> bool:
    """Whether it resumed what the kill before the first operation leaves: nothing was done yet."""
    steps = (experiment.point.step, *experiment.equal_steps)
    return experiment.point.fault is Fault.KILL and min(steps) == 0


def reaches(ratio: float | None, limit: float) -> bool:
    """Whether a known ratio is at the limit or above it."""
    return ratio is not None and ratio >= limit - _ROUNDING


def share(part: float, whole: float) -> float | None:
    """``part / whole``; None if there is no whole."""
    return part / whole if whole > 0 else None


def cpu_comparable(run: Execution) -> bool:
    """Whether a run is long enough for its raw user CPU to be compared with another's."""
    return run.user_cpu_s >= SHORTEST_CPU_S - _ROUNDING


def repeats_everything(again: Execution, run: Execution, limit: float) -> bool:
    """Whether an execution did the run's work again: user CPU, bytes *and* operations, all three.

    CPU is taken raw here, start-up and all: a job that writes nothing before its end would count as
    start-up from beginning to end. A run of less than 0.2 s of user CPU is too short for two CPU
    times to be compared; there bytes and operations decide, which are exact. Nothing is repeated of
    a cost that the run did not have.
    """
    cpu_repeated = not cpu_comparable(run) or reaches(
        share(again.user_cpu_s, run.user_cpu_s), limit
    )
    return cpu_repeated and repeats_all_it_did(again, run, limit)


def repeats_all_it_did(again: Execution, run: Execution, limit: float) -> bool:
    """The exact half of it: whether an execution repeated the run's bytes and its operations."""
    return reaches(share(again.bytes_written, run.bytes_written), limit) and reaches(
        share(again.operations, run.operations), limit
    )
