"""From evidence to verdicts. Pure: no I/O, the same evidence always gives the same verdict.

The verdict of one contract, by the first rule that applies:

1.  the subject gave a reason of its own (``not_applicable``) → not applicable
2.  the evidence is invalid, or the undisturbed run did not end well → inconclusive
3.  none of its faults was asked for; or the undisturbed run shows that it does not apply; or a
    capability that it needs is missing → not applicable
4.  none of its faults has states that can be trusted → inconclusive
5.  a failure showed again when it was replayed (or, of a contract that is judged by the control run
    or the recording alone, needs no replay) → failed
6.  something was not concluded: the states of one of its faults cannot be trusted, or none of them
    was explored, or some operation never reached; an experiment could not be seen through; states
    were left out behind a known hang; a failure did not show again (flaky subject) or was not yet
    replayed → inconclusive
7.  there was too little to judge by, although all was explored → not applicable
8.  the budget ended with every operation × kind covered → passed, ``sampled n/m``
9.  passed

Of rule 6, a contract that is not judged by experiments is concerned only with states that cannot be
trusted, and with what it finds wanting itself; one that is judged by trials finds wanting what was
not tried, and trials whose fault did not fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from checkpoint_contracts.beforehand import decided_beforehand
from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Fault
from checkpoint_contracts.gaps import MAY_HAVE_NO_STATES, gaps_of, has_no_states
from checkpoint_contracts.own import asked, judged
from checkpoint_contracts.replay import Cause, Holding, Standing, faults_judged, hold, next_replays
from checkpoint_contracts.settle import SlowEnd
from checkpoint_contracts.table import contracts_broken
from checkpoint_contracts.trial import TrialKind
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Failure, Outcome, Verdict
from checkpoint_contracts.wording import and_more, counted, fault_words, in_order


def replays_needed(
    evidence: Evidence, contracts: Iterable[Contract] = tuple(CATALOGUE.values())
) -> tuple[CrashPoint, ...]:
    """The points to replay next, for all contracts together, each once; also those of trials.

    Ask again with the replays added to the evidence until nothing is needed any more. A point that
    has a replay is never asked for again. The replay of a hang needs a longer deadline.
    """
    made = {one.point for one in evidence.experiments} | {one.point for one in evidence.trials}
    again = {one.point for one in evidence.replays}
    again |= {one.point for one in evidence.trial_replays}
    none: tuple[CrashPoint, ...] = ()
    points: dict[CrashPoint, None] = {}
    for contract in contracts:
        points.update(dict.fromkeys(asked(contract, none, partial(_replays, evidence, contract))))
    return tuple(point for point in points if point in made - again)


def _replays(evidence: Evidence, contract: Contract) -> tuple[CrashPoint, ...]:
    if decided_beforehand(evidence, contract) is not None:
        return ()
    return next_replays(evidence, contract)


def judge_all(
    evidence: Evidence, contracts: Iterable[Contract] = tuple(CATALOGUE.values())
) -> Mapping[str, Verdict]:
    """Contract id → verdict, in the order of the catalogue."""
    return {contract.id: judge(evidence, contract) for contract in contracts}


def judge(evidence: Evidence, contract: Contract) -> Verdict:
    """The verdict of one contract: the rules at the head of this module, in their order.

    One that is none of the catalogue, and raises, is inconclusive.
    """
    return judged(contract, partial(_judge, evidence, contract))


def _judge(evidence: Evidence, contract: Contract) -> Verdict:
    decided = decided_beforehand(evidence, contract)
    if decided is not None:
        outcome, reason = decided
        return _verdict(evidence, contract, outcome, reason)
    holding = hold(evidence, contract)
    confirmed = holding.standing(Standing.CONFIRMED)
    gaps = gaps_of(evidence, contract, holding)
    notes = _notes(evidence, contract, holding)
    if confirmed:
        failures = tuple(_failure(evidence, cause, holding.slow) for cause in confirmed)
        return _verdict(
            evidence,
            contract,
            Outcome.FAILED,
            failures[0].finding.headline + and_more(len(failures) - 1, "cause"),
            failures=failures,
            notes=(*gaps, *notes),
        )
    if gaps:
        reason = gaps[0] + and_more(len(gaps) - 1, "reason")
        return _verdict(evidence, contract, Outcome.INCONCLUSIVE, reason, notes=(*gaps[1:], *notes))
    too_little = contract.too_little(holding.evidence)
    if too_little is not None:
        return _verdict(evidence, contract, Outcome.NOT_APPLICABLE, too_little, notes=notes)
    explored, total = _states(evidence, contract)
    sampled = f"sampled {explored}/{total}" if explored < total else ""
    return _verdict(evidence, contract, Outcome.PASSED, sampled, notes=notes)


def _failure(evidence: Evidence, cause: Cause, slow: Iterable[SlowEnd]) -> Failure:
    """A confirmed cause. States behind its known hang count as failed with it."""
    finding, count = cause.chosen, len(cause.findings)
    notes: list[str] = []
    coverage = evidence.coverage.get(cause.fault)
    if cause.is_hang and coverage is not None:
        behind = sum(point.signature == finding.point.signature for point in coverage.known_hangs)
        if behind:
            count += behind
            notes.append(f"{behind} of them were not tried (known hang)")
    notes += [end.note for end in slow if end.point == finding.point]
    return Failure(finding=finding, count=count, notes=tuple(notes))


def _notes(evidence: Evidence, contract: Contract, holding: Holding) -> tuple[str, ...]:
    notes = list(contract.notes(holding.evidence))
    left_out = contract.faults - evidence.faults
    if left_out:
        notes.append(f"the fault {fault_words(left_out)} was not asked for")
    for fault in in_order(faults_judged(evidence, contract)):
        coverage = evidence.coverage.get(fault)
        if contract.explores and coverage is not None and has_no_states(coverage, fault):
            why = MAY_HAVE_NO_STATES[fault]
            notes.append(f"the fault {fault} has no states of its own here: {why}")
    not_tried = holding.standing(Standing.NOT_TRIED)
    if not_tried:
        states = sum(len(cause.findings) for cause in not_tried)
        notes.append(
            f"seen and not replayed: {counted(len(not_tried), 'further cause')} "
            f"({counted(states, 'state')})"
        )
    notes += [
        end.note
        for end in holding.slow
        if contract.id in contracts_broken(end.symptom, end.point.fault)
        or (isinstance(contract, TrialContract) and end.point.fault in contract.faults)
        or end.point.fault in contract.faults & {Fault.DAMAGE}
    ]
    notes += [
        f"taken for slow ones too: {counted(len(cause.findings), 'further hang')} "
        f"at {cause.chosen.point.operation}"
        for cause in holding.standing(Standing.SLOW)
    ]
    return tuple(notes)


def trials_wanted(
    evidence: Evidence, contracts: Iterable[Contract] = tuple(CATALOGUE.values())
) -> frozenset[TrialKind]:
    """The kinds of trials by which some contract is to be judged: what was asked for, and applies.

    Of the evidence only what the control run has shown is looked at.
    """
    none: tuple[TrialKind, ...] = ()
    return frozenset(
        kind
        for contract in contracts
        for kind in asked(contract, none, partial(_kinds, evidence, contract))
    )


def _kinds(evidence: Evidence, contract: Contract) -> tuple[TrialKind, ...]:
    if isinstance(contract, TrialContract) and decided_beforehand(evidence, contract) is None:
        return contract.kinds_judged(evidence)
    return ()


def _states(evidence: Evidence, contract: Contract) -> tuple[int, int]:
    """Explored and all unique states, summed over the faults that it was judged on.

    What is judged by the recording is judged at all of them. Trials are counted as states.
    """
    tried = isinstance(contract, TrialContract)
    coverages = list(contract.coverages(evidence)) if isinstance(contract, TrialContract) else []
    if contract.explores or not tried:
        coverages += [
            evidence.coverage[fault]
            for fault in faults_judged(evidence, contract)
            if fault in evidence.coverage
        ]
    unique = sum(one.unique for one in coverages)
    by_all = not (contract.explores or tried)
    return unique if by_all else sum(one.explored for one in coverages), unique


def _verdict(
    evidence: Evidence,
    contract: Contract,
    outcome: Outcome,
    reason: str,
    *,
    failures: tuple[Failure, ...] = (),
    notes: tuple[str, ...] = (),
) -> Verdict:
    explored, total = _states(evidence, contract)
    return Verdict(
        contract=contract.id,
        outcome=outcome,
        reason=reason,
        failures=failures,
        faults_failed=tuple(
            fault.value
            for fault in in_order({one.finding.point.fault for one in failures} & contract.faults)
        ),
        notes=notes,
        states_explored=explored,
        states_total=total,
    )
