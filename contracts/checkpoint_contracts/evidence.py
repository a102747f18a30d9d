"""What the experiments saw, as frozen values: the only thing that a contract may look at.

Evidence is plain data, so that it can be kept on disk and judged again. Nothing in here runs
anything or reads a file. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkpoint_contracts.bucket import Bucket, StoredObject, StoreRequest
from checkpoint_contracts.crash_point import CRASHES, RESTORED, CrashPoint, Fault
from checkpoint_contracts.execution import Execution
from checkpoint_contracts.heartbeat import Heartbeat
from checkpoint_contracts.observations import Damage, Effect, Handoff, OtherRun, OutputChange
from checkpoint_contracts.trial import Trial, TrialKind, Variant

__all__ = [
    "CRASHES",
    "RESTORED",
    "Coverage",
    "CrashPoint",
    "Damage",
    "Effect",
    "Evidence",
    "Execution",
    "Experiment",
    "Fault",
    "Finished",
    "Handoff",
    "MarkerAhead",
    "OtherRun",
    "OutputChange",
    "PartialOutput",
    "Reference",
    "Trial",
    "TrialKind",
    "Variant",
]


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
    effects_before: tuple[Effect, ...] = ()
    """What had been sent by the crash, where that is declared."""
    effects_after: tuple[Effect, ...] = ()
    """What the resume sent."""
    requests: tuple[StoreRequest, ...] = ()
    """What the resume asked of the object store, where that is declared."""
    objects: tuple[StoredObject, ...] = ()
    """What the store held after the resume."""
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
    output_changes: tuple[OutputChange, ...] | None = None
    """Outputs that after the resume were not as after the undisturbed run; None: nobody looked."""
    handoff: Handoff | None = None
    """What the handoff said at the crash, before the resume; None: nobody looked."""
    damage: Damage | None = None
    """What had been damaged, where something had."""
    spent: str = ""
    """Of a second crash: the stage whose attempts it has used up, as kills at its start do too."""

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
    effects: tuple[Effect, ...] = ()
    """What it sent, where that is declared."""
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
    effects: tuple[Effect, ...] = ()
    """What it sent, where that is declared."""
    finished_effects: tuple[Effect, ...] = ()
    """What the resume of the finished job sent."""
    objects: tuple[StoredObject, ...] = ()
    """What the object store held at its end, where that is declared."""
    requests: tuple[StoreRequest, ...] = ()
    """What it asked of the store."""
    bucket: Bucket | None = None
    """What else is known of its objects; None: it declares none."""
    steps: int = 0
    """Operations of the recording, events among them; 0: not known."""
    other_run: OtherRun | None = None
    """The undisturbed run before the recorded one; None: not known (older evidence)."""

    @property
    def finished(self) -> Finished:
        """The first resume of the finished job."""
        return Finished(
            resume=self.finished_resume,
            events=self.finished_resume_events,
            effects=self.finished_effects,
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
class MarkerAhead:
    """A marker that stands at a kill, while its object is not whole in the bucket."""

    point: CrashPoint
    """The kill after the operation that left it so."""
    marker: str
    """A path in the workspace, or a key of the bucket."""
    key: str
    held_bytes: int | None
    """None: there is no object."""
    final_bytes: int
    """At the end of the undisturbed run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of one fault, or of one kind of trial, was explored."""

    derived: int
    unique: int
    explored: int
    unreached: tuple[str, ...] = ()
    """Operations × kind that the budget never reached (descriptions)."""
    known_hangs: tuple[CrashPoint, ...] = ()
    """States left out because the subject had hung twice at that operation."""
    left_out: tuple[str, ...] = ()
    """What was not explored on purpose and why, sentences without a full stop."""
    doubts: tuple[str, ...] = ()
    """Why nothing may be concluded of a part of it, sentences without a full stop."""

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
    markers_ahead: tuple[MarkerAhead, ...] = ()
    """Derived from the recording alone, for all kills, explored or not."""
    trials: tuple[Trial, ...] = ()
    trial_replays: tuple[Trial, ...] = ()
    """Trials made again, to see whether a failure repeats; the point tells which."""
    trial_coverage: Mapping[TrialKind, Coverage] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    """The undisturbed runs of the changed pipelines."""
    room: str = ""
    """How the disk was made full, a sentence without a full stop."""
    heartbeat: Heartbeat | None = None
    """How the job shows that it is alive, where that is declared."""
    restart_ratio: float = 0.9
    """From which share of the undisturbed run's cost a resume counts as starting over."""
