"""What an earlier examination kept, and how one state of it is judged again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from checkpoint_contracts import RESUME_KEEPS_WORK
from checkpoint_contracts.evidence import (
    Coverage,
    Evidence,
    Experiment,
    Reference,
    Trial,
    TrialKind,
    Variant,
)
from pytest_checkpoint.keeping.keep import RECORDING, load_evidence
from pytest_checkpoint.keeping.places import kept_folder
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A recording and the evidence that goes with it."""

    recording: Recording
    evidence: Evidence
    reference: Reference
    note: str
    """For people: how old it is, and what that means."""

    @classmethod
    def of(cls, options: Options, subject: Subject) -> Self | None:
        """None if there is none: it was never made, or the examination was interrupted."""
        folder = kept_folder(options, subject)
        evidence = load_evidence(folder)
        if evidence is None or evidence.reference is None:
            return None
        recording = journal.load(folder / RECORDING)
        made = datetime.fromtimestamp((folder / RECORDING).stat().st_mtime, tz=UTC).astimezone()
        note = (
            f"the state is from the recording of {made:%Y-%m-%d %H:%M}: how the job writes now is "
            "not seen, only how it resumes; run without --checkpoint-replay to record it again"
        )
        return cls(recording=recording, evidence=evidence, reference=evidence.reference, note=note)

    def control(self, options: Options) -> Control:
        """As if the control run had just been made."""
        return control_of(options, self.recording, self.reference)


def control_of(
    options: Options,
    recording: Recording,
    reference: Reference,
    unreadable: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Control:
    """Of a control run that was made before."""
    took_s = max(reference.run.wall_s, reference.finished_resume.wall_s)
    return Control(
        reference=reference,
        recording=recording,
        start=State(
            recording.start,
            recording.start_events,
            recording.start_effects,
            recording.start_objects,
        ),
        deadlines=Deadlines.of(options, resume_took_s=took_s, check_took_s=reference.check.wall_s),
        unreadable=unreadable,
        notes=notes,
    )


def evidence_of_replay(known: Evidence, contract: str, again: Experiment) -> Evidence:
    """The one experiment as all there is to judge by.

    ``resume-keeps-work`` is no matter of one state: there the new experiment takes the place of the
    old one among all others.
    """
    fault = again.point.fault
    faults = frozenset({fault})
    if contract == RESUME_KEEPS_WORK and known.experiments:
        others = tuple(one for one in known.experiments if one.point.id != again.point.id)
        return dataclasses.replace(known, experiments=(*others, again), replays=(again,))
    return dataclasses.replace(
        known,
        faults=faults,
        experiments=(again,),
        replays=(again,),
        coverage={fault: Coverage(derived=1, unique=1, explored=1)},
        partial_outputs=tuple(one for one in known.partial_outputs if one.point == again.point),
        markers_ahead=tuple(one for one in known.markers_ahead if one.point == again.point),
    )


def evidence_of_trial(known: Evidence, again: Trial, variants: tuple[Variant, ...]) -> Evidence:
    """The one trial as all there is to judge by; ``variants``: of a changed pipeline, its own."""
    one, none = (Coverage(derived=count, unique=count, explored=count) for count in (1, 0))
    return dataclasses.replace(
        known,
        faults=frozenset({again.point.fault}),
        trials=(again,),
        trial_replays=(again,),
        trial_coverage={
            kind: one if kind is again.kind else none
            for kind in TrialKind
            if kind.fault is again.point.fault
        },
        variants=variants,
        room="",
    )
