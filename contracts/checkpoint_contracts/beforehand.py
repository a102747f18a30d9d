"""Rules 1 to 4 of the judgement: what is decided before any experiment is looked at."""

from __future__ import annotations

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Evidence
from checkpoint_contracts.inputs import STAGE_INPUTS, inputs
from checkpoint_contracts.replay import faults_judged
from checkpoint_contracts.resume_contracts import STAGES
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.verdict import Outcome
from checkpoint_contracts.whole_outputs import OUTPUTS
from checkpoint_contracts.wording import ending, fault_words, in_order


def decided_beforehand(evidence: Evidence, contract: Contract) -> tuple[Outcome, str] | None:
    """Rules 1 to 4: what is decided before any experiment is looked at."""
    if contract.id in evidence.not_applicable:
        return Outcome.NOT_APPLICABLE, evidence.not_applicable[contract.id]
    invalid = evidence.invalid or _reference_problem(evidence)
    if invalid:
        return Outcome.INCONCLUSIVE, invalid
    reason = _inapplicable(evidence, contract)
    if reason is not None:
        return Outcome.NOT_APPLICABLE, reason
    faults = faults_judged(evidence, contract)
    if faults and faults <= evidence.unobservable.keys():
        return Outcome.INCONCLUSIVE, " ".join(
            dict.fromkeys(evidence.unobservable[fault] for fault in in_order(faults))
        )
    return None


def _inapplicable(evidence: Evidence, contract: Contract) -> str | None:
    """Rule 3."""
    if contract.faults and not faults_judged(evidence, contract):
        return f"it needs the fault {fault_words(contract.faults)}, which was not asked for"
    reason = contract.inapplicable(evidence)
    if reason is not None:
        return reason
    missing = contract.needs - _capabilities(evidence)
    if missing:
        noun = "capability" if len(missing) == 1 else "capabilities"
        return f"the subject does not declare the {noun} {', '.join(sorted(missing))}"
    return None


def _reference_problem(evidence: Evidence) -> str | None:
    reference = evidence.reference
    if reference is None:
        return "there is no undisturbed run to hold the experiments against"
    for name, execution in (
        ("run", reference.run),
        ("resume of the finished job", reference.finished_resume),
        ("check", reference.check),
    ):
        if not execution.usable:
            return f"undisturbed, the {name} says nothing: {execution.refusal or execution.problem}"
        if not execution.succeeded:
            return f"undisturbed, the {name} {ending(execution)}"
    return None


def _capabilities(evidence: Evidence) -> frozenset[str]:
    """Declared, and inferred from what the undisturbed run showed."""
    inferred: set[str] = set()
    if evidence.reference is not None and stage_names(evidence.reference.events):
        inferred.add(STAGES)
    if evidence.reference is not None and any(True for _ in inputs(evidence.reference.events)):
        inferred.add(STAGE_INPUTS)
    if evidence.outputs:
        inferred.add(OUTPUTS)
    return evidence.capabilities | inferred
