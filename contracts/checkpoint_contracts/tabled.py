"""Contracts that take their findings from the table alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checkpoint_contracts.causes import likely_cause, likely_causes
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Reference
from checkpoint_contracts.table import contracts_broken, stages_concerned, symptoms
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import expected_and_seen, place, symptom_text


def _applies(evidence: Evidence) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TabledContract:
    """A contract of the table: one experiment by itself shows whether it was broken."""

    id: str
    promise: str
    explanation: str
    faults: frozenset[Fault]
    explores: bool = True
    needs: frozenset[str] = frozenset()
    inapplicable_because: Callable[[Evidence], str | None] = _applies

    def inapplicable(self, evidence: Evidence) -> str | None:
        return self.inapplicable_because(evidence)

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return tabled_findings(self.id, evidence.experiments, evidence.reference)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for again in tabled_findings(self.id, replays, evidence.reference)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return ()


def tabled_findings(
    contract: str, experiments: Iterable[Experiment], reference: Reference | None
) -> tuple[Finding, ...]:
    """What the cells of the table that name this contract say, in the order of the experiments."""
    if reference is None:
        return ()
    return tuple(
        _finding(contract, experiment, reference, symptom)
        for experiment in experiments
        for symptom in symptoms(experiment, reference)
        if contract in contracts_broken(symptom, experiment.point.fault)
    )


def causes_told(contract: str) -> tuple[str, ...]:
    """The likely causes that reports name for this contract, and how to mend each; by the table."""
    return likely_causes(
        {
            (symptom, fault)
            for symptom in Symptom
            for fault in Fault
            if contract in contracts_broken(symptom, fault)
        }
    )


def _finding(
    contract: str, experiment: Experiment, reference: Reference, symptom: Symptom
) -> Finding:
    point = experiment.point
    names = stages_concerned(experiment, reference, symptom)
    expected, seen = expected_and_seen(experiment, reference, symptom, names)
    return Finding(
        contract=contract,
        point=point,
        symptom=symptom,
        headline=f"{place(point)}: {symptom_text(experiment, symptom, names)}",
        expected=expected,
        seen=seen,
        likely_cause=likely_cause(point, symptom),
    )
