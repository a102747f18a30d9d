"""What a resume costs, as a share of what the undisturbed run cost.

Two ratios, never added: user CPU less start-up, and bytes written under the workspace. CPU decides
where it can be judged, else bytes do. Start-up is the larger of the CPU of the run up to its first
operation or event, and the CPU of the resume of the finished job if that wrote nothing. CPU is not
judged where start-up is half of the run's CPU or more, or less than 0.2 s remains: then start-up
and the clock's own noise would decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import Execution, Reference

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
    return (
        cpu_repeated
        and reaches(share(again.bytes_written, run.bytes_written), limit)
        and reaches(share(again.operations, run.operations), limit)
    )
