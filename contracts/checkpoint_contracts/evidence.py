"""What the experiments saw, as frozen values: the only thing that a contract may look at.

Evidence is plain data, so that it can be kept on disk and judged again. Nothing in here runs
anything or reads a file. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Fault(enum.StrEnum):
    """What was done to the subject. The value is the word of ``--checkpoint-faults``."""

    KILL = "kill"
    TORN = "torn"
    POWER_LOSS = "power-loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One process tree of the subject, from its start until no descendant was left."""

    exit_code: int | None
    """None if it died by a signal or was ended at its deadline."""
    signal: int | None = None
    timed_out: bool = False
    wall_s: float = 0.0
    user_cpu_s: float = 0.0
    """User CPU of all its processes."""
    startup_cpu_s: float = 0.0
    """User CPU up to its first recorded operation or event (all of it, if there was none)."""
    bytes_written: int = 0
    """Under the workspace; TMPDIR is not counted."""
    operations: int = 0
    """Recorded operations, events not counted."""
    output: str = ""
    """Standard output of a check; standard output and error together of anything else."""
    error_output: str = ""
    """Standard error of a check."""
    refusal: str | None = None
    """The sentence of a call that was refused for safety: the experiment says nothing then."""
    problem: str | None = None
    """A sentence: why the kit itself could not see this execution through (a surviving process)."""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    @property
    def usable(self) -> bool:
        """Whether anything may be concluded from it."""
        return self.refusal is None and self.problem is None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """Where a crash was placed: a step of the recording and what became of that step.

    ``step`` 0 is the moment before the first operation. A kill and a power loss stand *after* the
    operation ``step``; a torn write *within* it. ``operation`` is for people (``rename
    state.json.tmp → state.json``); ``signature`` is the same without what differs from round to
    round (digits, random parts of temporary names), so that one flaw in a loop counts as one cause.
    """

    fault: Fault
    step: int
    variant: str
    operation: str
    signature: str
    total_steps: int

    @property
    def id(self) -> str:
        """``41.kill``, ``41.torn-128``: stable within a recording; used in replay commands."""
        return f"{self.step}.{self.variant}"

    @property
    def position(self) -> float:
        """0.0 before the first operation, 1.0 after the last."""
        return self.step / self.total_steps if self.total_steps else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One crash state, resumed and checked."""

    point: CrashPoint
    equal_steps: tuple[int, ...] = ()
    """Further steps after which a kill leaves this very state: it stands for them too."""
    events_before: tuple[str, ...]
    """Lines of the events file at the crash."""
    events_after: tuple[str, ...] = ()
    """Lines that the resume appended."""
    resume: Execution
    second_resume: Execution | None = None
    """Only after a failed resume, only for the message."""
    check: Execution | None = None
    """None if the resume failed: there is nothing to check then."""
    unresumed_check: Execution | None = None
    """The check on the restored state itself, where a contract asked for it."""
    lost: tuple[str, ...] = ()
    """What a power loss took, in words."""
    missing_syncs: tuple[str, ...] = ()
    """Sentences: which operations were not durable, and the sync that they would have needed."""
    missing_kinds: tuple[str, ...] = ()
    """The same without what differs from round to round: what makes two power losses one cause."""

    def kills_from(self, position: float) -> int:
        """How many kill points from this position of the run on it stands for."""
        if self.point.fault is not Fault.KILL:
            return 0
        steps = {self.point.step, *self.equal_steps}
        return sum(step >= position * self.point.total_steps for step in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What it did to a finished job that it was resumed once more."""

    resume: Execution
    events: tuple[str, ...] = ()
    """Lines that it appended."""
    check: Execution | None = None
    """The check after it; None if it was not made."""
    changes: tuple[str, ...] = ()
    """Outputs (bytes, names, mode) that are not as before, in words."""
    notes: tuple[str, ...] = ()
    """Other files that are not as before, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The undisturbed run: what every experiment is held against."""

    run: Execution
    finished_resume: Execution
    """The resume of the finished job."""
    finished_resume_events: tuple[str, ...] = ()
    finished_check: Execution | None = None
    """The check after that resume."""
    finished_changes: tuple[str, ...] = ()
    """Outputs that it changed, in words."""
    finished_notes: tuple[str, ...] = ()
    """Other files that it changed, in words."""
    finished_again: Finished | None = None
    """The same done again from the same state, where the first showed something: what is seen only
    once accuses nobody."""
    check: Execution
    events: tuple[str, ...]
    steps: int = 0
    """Operations of the recording, events among them; 0: not known."""

    @property
    def finished(self) -> Finished:
        """The first resume of the finished job."""
        return Finished(
            resume=self.finished_resume,
            events=self.finished_resume_events,
            check=self.finished_check,
            changes=self.finished_changes,
            notes=self.finished_notes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialOutput:
    """A file that stands under its final name at a crash, and is not whole."""

    point: CrashPoint
    """The crash after the operation that left it so, or within it."""
    path: str
    """In the workspace."""
    size_bytes: int
    final_size_bytes: int
    """At the end of the undisturbed run."""
    why: str
    """A sentence without a full stop: how it came to stand there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of one fault was explored."""

    derived: int
    unique: int
    explored: int
    unreached: tuple[str, ...] = ()
    """Operations × kind that the budget never reached (descriptions)."""
    known_hangs: tuple[CrashPoint, ...] = ()
    """States left out because the subject had hung twice at that operation."""

    @property
    def complete(self) -> bool:
        return self.explored >= self.unique and not self.known_hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that is known about one subject."""

    subject: str
    capabilities: frozenset[str]
    """Declared and inferred."""
    faults: frozenset[Fault]
    """The faults that were asked for."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Contract id → the subject's own reason."""
    invalid: str | None = None
    """A sentence: why nothing can be concluded (the control run failed, say)."""
    unobservable: Mapping[Fault, str] = field(default_factory=dict)
    """Fault → why its states cannot be trusted for this subject (a mapped file unreadable)."""
    reference: Reference | None = None
    """None only if :attr:`invalid`."""
    experiments: tuple[Experiment, ...] = ()
    replays: tuple[Experiment, ...] = ()
    """Experiments done again, to see whether a failure repeats; the point tells which."""
    coverage: Mapping[Fault, Coverage] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    """Paths in the workspace that matched the declared globs at the end of the undisturbed run;
    empty only if none was declared."""
    partial_outputs: tuple[PartialOutput, ...] = ()
    """Derived from the recording alone, for all states, explored or not."""
    restart_ratio: float = 0.9
    """From which share of the undisturbed run's cost a resume counts as starting over."""
