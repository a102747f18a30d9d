"""Contracts that take their findings from the table alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checkpoint_contracts.causes import likely_cause
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Reference
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.table import contracts_broken, symptoms
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
    needs: frozenset[str] = frozenset()
    inapplicable_because: Callable[[Evidence], str | None] = _applies

    def inapplicable(self, evidence: Evidence) -> str | None:
        return self.inapplicable_because(evidence)

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return self._findings(evidence.experiments, evidence.reference)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for again in self._findings(tuple(replays), evidence.reference)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def _findings(
        self, experiments: tuple[Experiment, ...], reference: Reference | None
    ) -> tuple[Finding, ...]:
        if reference is None:
            return ()
        return tuple(
            _finding(self.id, experiment, reference, symptom)
            for experiment in experiments
            for symptom in symptoms(experiment, reference)
            if self.id in contracts_broken(symptom, experiment.point.fault)
        )


def _finding(
    contract: str, experiment: Experiment, reference: Reference, symptom: Symptom
) -> Finding:
    point = experiment.point
    names = done_again(
        stage_names(reference.events), experiment.events_before, experiment.events_after
    )
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
