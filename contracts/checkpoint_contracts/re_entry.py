"""``re-entry-is-safe``: a stage killed half way leaves nothing that its second run trips over.

Judged by the kills at which a stage had been started and not been done, and which made the resume
start it again. How that ends is the table's rows; besides, the outputs must be those of the
undisturbed run, as ``resume-is-idempotent`` compares them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import HALF_DONE, likely_cause
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, OutputChange, Reference
from checkpoint_contracts.ids import RE_ENTRY_IS_SAFE
from checkpoint_contracts.resume_contracts import STAGES, no_stage
from checkpoint_contracts.stages import re_entered, stage_names
from checkpoint_contracts.table import symptoms
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import (
    counted,
    expected_and_seen,
    listed,
    listed_lines,
    place,
    symptom_text,
)

_WRONG_ENDS: Final = frozenset(
    {
        Symptom.RESUME_FAILED,
        Symptom.HANG,
        Symptom.CHECK_FAILED,
        Symptom.CHECK_HANG,
        Symptom.DIFFERENT_RESULT,
    }
)


@dataclass(frozen=True, slots=True)
class ReEntryIsSafe:
    """The contract; it has no settings."""

    id: str = RE_ENTRY_IS_SAFE
    promise: str = "a stage killed half way leaves nothing that its second run trips over"
    explanation: str = """\
A stage that was killed half way runs again, and finds what its first run has left: a file that is
half full, rows that are inserted already, a folder that exists, a temporary name. Looked at are the
kills after a stage's `start` line and before its `done` line for which the resume started that
stage again. The contract is broken if the resume fails or does not end, if the check fails or says
something else than after the undisturbed run, and if an output (a file that matches the declared
globs) is not as the undisturbed run left it, in name, bytes or mode. Outputs in which the two
undisturbed runs differ, by a time or the workspace's path, are not compared, nor what the ephemeral
globs match: name there what may depend on how often the job was started, a database file or a log.
A file that the crash left and the undisturbed run did not is litter and no output. If no kill falls
within a stage that is started again, the contract is not applicable.

It is broken by an append where a replacement was meant, by a counter or a row that is added once
more, by a temporary file that is found and taken for whole, and by mkdir() without exist_ok.

Keep it: let a stage begin by removing or replacing what it makes; write under a temporary name that
is always written anew, and os.replace() it onto the final one; in a database delete the stage's
rows in the transaction that inserts them."""
    faults: frozenset[Fault] = frozenset({Fault.KILL})
    explores: bool = True
    needs: frozenset[str] = frozenset({STAGES})

    def inapplicable(self, evidence: Evidence) -> str | None:
        return no_stage(evidence)

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        reference = evidence.reference
        if reference is None:
            return ()
        return tuple(
            finding
            for experiment in evidence.experiments
            for finding in _findings(evidence, reference, experiment)
        )

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays or evidence.reference is None:
            return None
        if finding.symptom is not Symptom.OUTPUT_CHANGED:
            return any(
                _wrong_end_kind(replay, evidence.reference) is finding.symptom.kind
                for replay in replays
            )
        seen = {
            (change.path, change.digest)
            for experiment in evidence.experiments
            if experiment.point == finding.point
            for change in _changes(evidence, experiment)
        }
        return any(
            (change.path, change.digest) in seen
            for replay in replays
            for change in replay.output_changes or ()
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        if not evidence.outputs:
            return ()
        return tuple(
            f"the outputs were not looked at after the resume from {experiment.point.id}"
            for experiment in _entered_again(evidence)
            if experiment.resume.succeeded and experiment.output_changes is None
        )[:1]

    def too_little(self, evidence: Evidence) -> str | None:
        if any(True for _ in _entered_again(evidence)):
            return None
        return "no kill point lies within a stage that the resume then starts again"

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        within = sum(1 for _ in _entered_again(evidence))
        notes = [f"killed within a stage that ran again: {counted(within, 'state')}"]
        if not evidence.outputs:
            notes.append("no outputs are declared, so only the result of the check was compared")
        notes += _left_out(evidence)
        return tuple(notes)


def wants_outputs(
    experiment: Experiment, reference: Reference, contracts: Collection[str] | None = None
) -> bool:
    """Whether the outputs are to be looked at after a resume, before the check.

    Of ``experiment`` only the point, the events and the resume are looked at. ``contracts``: the
    ids of those that are judged, None: all.
    """
    judged = contracts is None or RE_ENTRY_IS_SAFE in contracts
    return judged and experiment.resume.succeeded and bool(_names(experiment, reference))


def shows_what_may_vary(experiment: Experiment) -> bool:
    """Whether an output is not as it was, and may be another one each time.

    Its replay tells, if it is made in another second.
    """
    return any(change.same_size for change in experiment.output_changes or ())


def _entered_again(evidence: Evidence) -> Iterator[Experiment]:
    """The experiments that it is judged by."""
    if evidence.reference is not None:
        for experiment in evidence.experiments:
            if _names(experiment, evidence.reference):
                yield experiment


def _names(experiment: Experiment, reference: Reference) -> tuple[str, ...]:
    """The stages that were killed half way and ran again."""
    if experiment.point.fault is not Fault.KILL or not experiment.resume.usable:
        return ()
    stages = stage_names(reference.events)
    return re_entered(stages, experiment.events_before, experiment.events_after)


def _wrong_end(experiment: Experiment, reference: Reference) -> Symptom | None:
    return next((one for one in symptoms(experiment, reference) if one in _WRONG_ENDS), None)


def _wrong_end_kind(experiment: Experiment, reference: Reference) -> Symptom | None:
    symptom = _wrong_end(experiment, reference)
    return symptom.kind if symptom is not None else None


def _changes(evidence: Evidence, experiment: Experiment) -> tuple[OutputChange, ...]:
    return tuple(
        change
        for change in experiment.output_changes or ()
        if not _varies(evidence, experiment, change)
    )


def _varies(evidence: Evidence, experiment: Experiment, change: OutputChange) -> bool:
    """Whether the same state, resumed twice, left two other outputs, each as long as it was.

    Then its content varies by itself, and two undisturbed runs agreed by chance: a time in whole
    seconds. What is longer or shorter each time is not excused by this.
    """
    return change.same_size and any(
        again.path == change.path and again.same_size and again.digest != change.digest
        for replay in evidence.replays
        if replay.point == experiment.point
        for again in replay.output_changes or ()
    )


def _left_out(evidence: Evidence) -> Iterator[str]:
    """Outputs that were not compared, in sentences."""
    other = evidence.reference.other_run if evidence.reference is not None else None
    if other is not None and other.varying_outputs:
        yield (
            "not compared, since two undisturbed runs differ in them: "
            f"{listed(other.varying_outputs)}"
        )
    if other is not None and other.varying_names:
        yield (
            "further names of outputs are not judged, since two undisturbed runs differ in them: "
            f"{listed(other.varying_names)}"
        )
    varying = dict.fromkeys(
        change.path
        for experiment in _entered_again(evidence)
        for change in experiment.output_changes or ()
        if _varies(evidence, experiment, change)
    )
    if varying:
        yield (
            "not compared, since the same state, resumed twice, gave two contents: "
            f"{listed(tuple(varying))}"
        )


def _findings(
    evidence: Evidence, reference: Reference, experiment: Experiment
) -> Iterator[Finding]:
    """At most a wrong end and one of changed outputs."""
    names = _names(experiment, reference)
    if not names:
        return
    symptom = _wrong_end(experiment, reference)
    if symptom is not None:
        texts = expected_and_seen(experiment, reference, symptom, ())
        yield _finding(experiment, names, symptom, symptom_text(experiment, symptom, ()), texts)
    changes = _changes(evidence, experiment)
    if changes:
        lines = tuple(f"{change.path}: {change.change}" for change in changes)
        yield _finding(
            experiment,
            names,
            Symptom.OUTPUT_CHANGED,
            f"{counted(len(lines), 'output')} not as in the undisturbed run: {lines[0]}",
            (
                "every output as the undisturbed run left it: names, bytes, mode",
                f"{listed_lines(lines)}\n(before: the undisturbed run; after: this resume)",
            ),
        )


def _finding(
    experiment: Experiment,
    names: tuple[str, ...],
    symptom: Symptom,
    what: str,
    texts: tuple[str, str],
) -> Finding:
    expected, seen = texts
    return Finding(
        contract=RE_ENTRY_IS_SAFE,
        point=experiment.point,
        symptom=symptom,
        headline=f"{place(experiment.point)}, {listed(names)} is run a second time: {what}",
        expected=expected,
        seen=seen,
        likely_cause=(likely_cause(experiment.point, symptom) if symptom.is_hang else HALF_DONE),
    )


re_entry_is_safe: Final = ReEntryIsSafe()
