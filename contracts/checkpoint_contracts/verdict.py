"""What a contract says of a subject."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from checkpoint_contracts.evidence import CrashPoint


class Outcome(enum.StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    INCONCLUSIVE = "inconclusive"


class Symptom(enum.StrEnum):
    """The kind of thing that went wrong: part of what makes two failures one cause."""

    RESUME_FAILED = "resume failed"
    HANG = "hang"
    CHECK_FAILED = "check failed"
    CHECK_HANG = "check hang"
    DIFFERENT_RESULT = "different result"
    DONE_AGAIN = "done again"
    SKIPPED = "skipped"
    STARTS_OVER = "starts over"
    LOST_AFTER_EXIT = "lost after exit"
    PARTIAL_OUTPUT = "partial output"
    OUTPUT_CHANGED = "output changed"
    RUNS_AGAIN = "runs again"
    OTHER_INPUT = "other input"
    NO_INPUT = "no input"
    HANDOFF_ABSENT = "handoff absent"
    HANDOFF_UNREADABLE = "handoff unreadable"
    HANDOFF_FORGETS = "handoff forgets"
    HANDOFF_AHEAD = "handoff ahead"
    HANDOFF_NEXT = "handoff names a wrong next"
    FAILURE_AS_DONE = "failure taken as done"
    ENDLESS_RETRY = "endless retry"
    NO_BUDGET = "no budget for crashes"
    KEEPS_GOING = "keeps going"
    SILENT_STOP = "silent stop"
    CHANGE_AS_DONE = "change taken as done"
    REFUSAL_SPOILS = "refusal spoils the state"
    ERROR_AS_SUCCESS = "error taken as success"
    LITTER_GROWS = "litter grows"
    DAMAGE_TAKEN = "damage taken for good"
    DAMAGE_DESTROYED = "damaged file gone"
    EFFECT_TWICE = "effect twice"
    EFFECT_LOST = "effect lost"
    EFFECT_NO_ID = "effect without an id"
    STRANGER_HARMED = "stranger harmed"
    STRANGER_SIGNALLED = "stranger signalled"
    TWO_WRITERS = "two writers"
    UNNOTICED = "not noticed"
    FALSE_ALARM = "false alarm"
    OBJECT_LOST = "object lost"
    OBJECT_SPOILT = "object not as sent"
    OBJECT_PARTIAL = "partial object"
    MARKER_AHEAD = "marker without its object"
    NOT_RETRIED = "not retried"
    NO_PAUSE = "retried without a pause"
    REFUSAL_RETRIED = "refusal retried"
    UPLOADED_AGAIN = "uploaded again"
    ORPHAN_LEFT = "orphan not adopted"
    FOREIGN_TOUCHED = "foreign object touched"
    SHARD_FAILED = "shard failed"
    BOUND_PASSED = "bound passed"
    TRIES_WITHOUT_END = "tries without end"
    PARTIAL_UPLOAD = "partial upload"
    MARKER_IN_STAGING = "marker in the staging"
    MARKERS_REMOVED = "markers removed"
    BROKEN = "promise broken"
    """Of a contract of somebody's own."""

    @property
    def kind(self) -> Symptom:
        """A check that fails and a check that says something else are the same failure."""
        return Symptom.CHECK_FAILED if self is Symptom.DIFFERENT_RESULT else self

    @property
    def is_hang(self) -> bool:
        return self in (Symptom.HANG, Symptom.CHECK_HANG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which one experiment broke a promise."""

    contract: str
    point: CrashPoint
    symptom: Symptom
    headline: str
    """What is lost, in the user's terms, without the subject's name: ``killed at step 41 (rename
    state.json.tmp → state.json): resume exits 1``."""
    expected: str
    seen: str
    likely_cause: str
    """The likely cause and how to mend it, a sentence or two."""
    root: str = ""
    """What makes it one cause with others, where the point's signature does not."""

    @property
    def cause(self) -> tuple[str, str, Symptom]:
        """Findings of one cause are reported once and counted."""
        return (self.contract, self.root or self.point.signature, self.symptom.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A cause that was seen again when it was replayed."""

    finding: Finding
    count: int
    """How many experiments showed this cause, the replayed one among them."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    contract: str
    outcome: Outcome
    reason: str = ""
    """Why, in a sentence; for *passed* empty or ``sampled n/m``."""
    failures: tuple[Failure, ...] = ()
    faults_failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    states_explored: int = 0
    states_total: int = 0
