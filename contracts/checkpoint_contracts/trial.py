"""Runs of the subject with a fault that answers: a stage that raises, a pipeline that has changed.

A crash state is derived from the recording; what a job does about a stage that fails can only be
seen by letting it fail. A trial is a few executions in one workspace, the *legs*, and a check.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from checkpoint_contracts.crash_point import CrashPoint, Fault
from checkpoint_contracts.execution import Execution


class TrialKind(enum.StrEnum):
    """What is tried, and the beginning of a trial's :attr:`CrashPoint.variant`."""

    RAISES_ONCE = "raises-once"
    RAISES_ALWAYS = "raises-always"
    KILLED_ALWAYS = "killed-always"
    CHANGED = "changed"

    @property
    def fault(self) -> Fault:
        return _FAULTS[self]


_FAULTS = {
    TrialKind.RAISES_ONCE: Fault.STAGE_RAISES,
    TrialKind.RAISES_ALWAYS: Fault.STAGE_RAISES,
    TrialKind.KILLED_ALWAYS: Fault.STAGE_KILLED,
    TrialKind.CHANGED: Fault.CHANGED,
}


class Command(enum.StrEnum):
    """What was executed in a leg."""

    RUN = "run"
    RESUME = "resume"
    CHANGED = "changed pipeline"
    """A changed pipeline as the resume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One execution of a trial."""

    command: Command
    execution: Execution
    events: tuple[str, ...] = ()
    """Lines that it appended to the events file."""
    killed: bool = False
    """The kit killed it, since it had said the line that the trial waits for."""

    @property
    def stopped(self) -> bool:
        """Whether it ended by itself, and not with exit 0."""
        return not (self.killed or self.execution.timed_out or self.execution.succeeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A fault in a stage, or a change of the pipeline, and what the job made of it."""

    point: CrashPoint
    kind: TrialKind
    stage: str = ""
    """The stage that fails or is killed; of a change: empty."""
    variant: int = 0
    """Of a change: the number of the :class:`Variant`, from 1."""
    limit: int = 0
    """How often the stage may be started in one leg, or be killed, before that is endless."""
    events_before: tuple[str, ...] = ()
    """Lines of the events file before the first leg."""
    legs: tuple[Leg, ...]
    """In order, at least one."""
    check: Execution | None = None
    """After the last leg, if that ended with exit 0."""
    unspoilt: tuple[Leg, ...] = ()
    """Where the resume after a refusal ended badly: the same resume without the refusal before."""
    unspoilt_check: Execution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A changed pipeline, run undisturbed in a fresh workspace: what its resume is held against."""

    number: int
    """From 1, in the order in which they were declared."""
    command: str
    """As one would type it."""
    run: Execution
    check: Execution
    events: tuple[str, ...]
    other_events: tuple[str, ...] | None = None
    """Of another undisturbed run of it: a stage that is not in both is there by chance. None: not
    known."""
