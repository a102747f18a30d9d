"""``done-survives-power-loss``: the table's column for power losses, and exits that acknowledge.

Findings come with the fewest missing syncs first, since the fewest tell most. A loss that takes
more than another which fails already is put down to that one's cause: what was missing there was
missing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checkpoint_contracts.causes import power_loss_cause
from checkpoint_contracts.evidence import Evidence, Execution, Experiment, Fault, Reference
from checkpoint_contracts.ids import DONE_SURVIVES_POWER_LOSS
from checkpoint_contracts.tabled import tabled_findings
from checkpoint_contracts.unresumed import ACKNOWLEDGES_EXIT, after_exit
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, differing, ending, listed_lines, place, quoted


@dataclass(frozen=True, slots=True)
class DoneSurvivesPowerLoss:
    """The contract; it has no settings."""

    id: str = DONE_SURVIVES_POWER_LOSS
    promise: str = (
        "what was acknowledged before a power loss is still done after it, and no state is "
        "unreadable"
    )
    explanation: str = """\
A kill leaves the page cache alive; a power cut, a lost node or a kernel panic does not. After each
operation the power is lost, and what had not been synced by then is lost with it, in part or in
whole, as the persistence model allows (--checkpoint-model): data without the name that was to lead
to it, a name without its data, zeros where data was to be. From each such state the job is resumed
and checked. The contract is broken if the resume fails or does not end, if the check fails or says
something else than after the undisturbed run, and if the resume writes `start NAME` although
`done NAME` stood there before: a done line is an acknowledgement. A save that was lost before it
was acknowledged may be done again, and that is no failure. Nor is it one that the power takes the
result of a job which has exited, unless the subject declares acknowledges-exit: then the check must
say the same on the states after the end as they are, without a resume.

It is broken by a rename of a file that was never synced, by an fsync before the buffer is flushed,
by an fsync of a descriptor that belongs to another file by then, by a directory that is not synced
after a rename, by a marker that reaches the disk before its data, by sqlite with synchronous=OFF,
and by sqlite with a rollback journal at synchronous=FULL, which can lose its last commit.

Keep it: before the done line write a temporary file, flush it, fsync it, os.replace() it onto the
final name, and fsync the directory; fsync the parent of every directory that is new. In sqlite use
WAL with synchronous=FULL, or synchronous=EXTRA."""
    faults: frozenset[Fault] = frozenset({Fault.POWER_LOSS})
    explores: bool = True
    needs: frozenset[str] = frozenset()

    def inapplicable(self, evidence: Evidence) -> str | None:
        return None

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return _rooted(
            (experiment, finding)
            for experiment in sorted(
                evidence.experiments, key=lambda experiment: len(experiment.missing_syncs)
            )
            for finding in _findings(evidence, experiment)
        )

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for replay in replays
            for again in _findings(evidence, replay)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        if ACKNOWLEDGES_EXIT not in evidence.capabilities:
            return ()
        checks = [one.unresumed_check for one in evidence.experiments if after_exit(one.point)]
        unasked = checks.count(None)
        sentences = [check.refusal or check.problem for check in checks if check is not None]
        if unasked:
            sentences.append(
                f"at {counted(unasked, 'power loss')} after the exit it is not known whether the "
                "result survived: the check was not run before the resume"
            )
        return tuple(sentence for sentence in sentences if sentence)

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        reference = evidence.reference
        if reference is None or ACKNOWLEDGES_EXIT in evidence.capabilities:
            return ()
        if any(line.startswith("done ") for line in reference.events):
            return ()
        note = (
            "the job acknowledges nothing (it writes no done line to $CHECKPOINT_EVENTS and does "
            "not declare acknowledges-exit), so it was only tested that it can go on after a power "
            "loss, not that finished work survives one"
        )
        return (note,)


def _findings(evidence: Evidence, experiment: Experiment) -> tuple[Finding, ...]:
    """All that one experiment shows."""
    reference = evidence.reference
    if reference is None or experiment.point.fault is not Fault.POWER_LOSS:
        return ()
    found = tabled_findings(DONE_SURVIVES_POWER_LOSS, (experiment,), reference)
    if ACKNOWLEDGES_EXIT in evidence.capabilities and after_exit(experiment.point):
        found += _lost_after_exit(experiment, reference)
    return tuple(
        replace(
            finding,
            seen=_with_losses(finding.seen, experiment),
            likely_cause=power_loss_cause(experiment.missing_syncs, finding.symptom),
        )
        for finding in found
    )


def _lost_after_exit(experiment: Experiment, reference: Reference) -> tuple[Finding, ...]:
    check = experiment.unresumed_check
    if check is None or not check.usable:
        return ()
    if check.succeeded and check.output == reference.check.output:
        return ()
    expected, seen = _texts(check, reference)
    return (
        Finding(
            contract=DONE_SURVIVES_POWER_LOSS,
            point=experiment.point,
            symptom=Symptom.LOST_AFTER_EXIT,
            headline=f"{place(experiment.point)}: the job had exited 0, and its result is lost",
            expected=f"without a resume, {expected}",
            seen=seen,
            likely_cause="",
        ),
    )


def _texts(check: Execution, reference: Reference) -> tuple[str, str]:
    if check.succeeded:
        expected, seen = differing(reference.check.output, check.output)
        return f"the check says: {expected}", f"the check says: {seen}"
    said = check.output + check.error_output
    return (
        f"the check exits 0 and says: {quoted(reference.check.output)}",
        f"the check {ending(check)}" + (f" and says: {quoted(said)}" if said.strip() else ""),
    )


def _with_losses(seen: str, experiment: Experiment) -> str:
    if not experiment.lost:
        return seen
    return f"{seen}\nlost with the power:\n{listed_lines(experiment.lost)}"


def _rooted(found: Iterable[tuple[Experiment, Finding]]) -> tuple[Finding, ...]:
    """The findings, those of larger losses put down to the smaller ones that explain them."""
    roots: list[frozenset[str]] = []
    rooted: list[Finding] = []
    for experiment, finding in found:
        kinds = frozenset(experiment.missing_kinds)
        root = _root(kinds, roots)
        if root not in roots:
            roots.append(root)
        rooted.append(replace(finding, root="; ".join(sorted(root))))
    return tuple(rooted)


def _root(kinds: frozenset[str], roots: Sequence[frozenset[str]]) -> frozenset[str]:
    return next((root for root in roots if root and root <= kinds), kinds)


done_survives_power_loss: Final = DoneSurvivesPowerLoss()
