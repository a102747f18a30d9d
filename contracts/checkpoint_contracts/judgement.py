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
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import RESTORED, Coverage, CrashPoint, Evidence, Fault
from checkpoint_contracts.inputs import STAGE_INPUTS, inputs
from checkpoint_contracts.own import asked, judged
from checkpoint_contracts.replay import Cause, Holding, Standing, faults_judged, hold, next_replays
from checkpoint_contracts.resume_contracts import STAGES
from checkpoint_contracts.settle import SlowEnd
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.table import contracts_broken, gap
from checkpoint_contracts.trial import TrialKind
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Failure, Outcome, Verdict
from checkpoint_contracts.whole_outputs import OUTPUTS
from checkpoint_contracts.wording import counted, ending

_MAY_HAVE_NO_STATES: Final[Mapping[Fault, str]] = MappingProxyType(
    {
        Fault.TORN: "no write can be cut",
        Fault.POWER_LOSS: "what it may leave, a kill leaves too",
    }
)
"""Of these an undisturbed run may have none at all, and why."""

_SAYS_ITSELF: Final = frozenset({Fault.SECOND_CRASH, Fault.DAMAGE})
"""Of these the contract itself says what it means that there are no states."""


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
    if _without_experiments(evidence, contract) is not None:
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
    decided = _without_experiments(evidence, contract)
    if decided is not None:
        outcome, reason = decided
        return _verdict(evidence, contract, outcome, reason)
    holding = hold(evidence, contract)
    confirmed = holding.standing(Standing.CONFIRMED)
    gaps = _gaps(evidence, contract, holding)
    notes = _notes(evidence, contract, holding)
    if confirmed:
        failures = tuple(_failure(evidence, cause, holding.slow) for cause in confirmed)
        return _verdict(
            evidence,
            contract,
            Outcome.FAILED,
            failures[0].finding.headline + _more(len(failures) - 1, "cause"),
            failures=failures,
            notes=(*gaps, *notes),
        )
    if gaps:
        reason = gaps[0] + _more(len(gaps) - 1, "reason")
        return _verdict(evidence, contract, Outcome.INCONCLUSIVE, reason, notes=(*gaps[1:], *notes))
    too_little = contract.too_little(holding.evidence)
    if too_little is not None:
        return _verdict(evidence, contract, Outcome.NOT_APPLICABLE, too_little, notes=notes)
    explored, total = _states(evidence, contract)
    sampled = f"sampled {explored}/{total}" if explored < total else ""
    return _verdict(evidence, contract, Outcome.PASSED, sampled, notes=notes)


def _without_experiments(evidence: Evidence, contract: Contract) -> tuple[Outcome, str] | None:
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
            dict.fromkeys(evidence.unobservable[fault] for fault in _ordered(faults))
        )
    return None


def _inapplicable(evidence: Evidence, contract: Contract) -> str | None:
    """Rule 3."""
    if contract.faults and not faults_judged(evidence, contract):
        return f"it needs the fault {_words(contract.faults)}, which was not asked for"
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


def _gaps(evidence: Evidence, contract: Contract, holding: Holding) -> tuple[str, ...]:
    """Rule 6: why it would be inconclusive, were nothing confirmed; each sentence once."""
    sentences: list[str] = []
    for fault in _ordered(faults_judged(evidence, contract)):
        if fault in evidence.unobservable:
            sentences.append(evidence.unobservable[fault])
        elif contract.explores and fault in RESTORED:
            sentences += _unexplored(evidence, holding, fault)
    if contract.explores:
        sentences += filter(None, map(gap, holding.evidence.experiments))
    sentences += contract.gaps(holding.evidence)
    for cause in holding.standing(Standing.NOT_REPEATED):
        sentences.append(
            f"flaky subject: not seen again when it was replayed: {cause.chosen.headline}"
        )
    points = {cause.chosen.point for cause in holding.standing(Standing.NOT_REPEATED)}
    for replay in holding.evidence.replays:
        sentence = gap(replay)
        if sentence is not None and replay.point in points:
            sentences.append(sentence)
    for cause in holding.standing(Standing.TO_REPLAY):
        sentences.append(f"seen once and not yet replayed: {cause.chosen.headline}")
    return tuple(dict.fromkeys(sentences))


def _unexplored(evidence: Evidence, holding: Holding, fault: Fault) -> list[str]:
    """What was not explored of one fault."""
    coverage = evidence.coverage.get(fault)
    if coverage is None:
        return [f"how much of the fault {fault} was explored is not known"]
    sentences: list[str] = []
    nothing_to_explore = (fault in _SAYS_ITSELF and coverage.unique == 0) or (
        _has_no_states(coverage, fault) and _others_explored(evidence, holding, fault)
    )
    explored = any(one.point.fault is fault for one in holding.evidence.experiments)
    if not explored and not nothing_to_explore:
        sentences.append(f"no state of the fault {fault} was explored")
    if coverage.unreached:
        sentences.append(
            f"the budget ended too early: not covered is {coverage.unreached[0]}"
            + _more(len(coverage.unreached) - 1, "operation")
            + "; --checkpoint-time-budget and --checkpoint-max-states give it more"
        )
    if coverage.known_hangs:
        sentences.append(
            f"not explored: {counted(len(coverage.known_hangs), 'state')} (known hang at "
            f"{coverage.known_hangs[0].operation}); --checkpoint-deadline gives a resume more time"
        )
    return sentences


def _has_no_states(coverage: Coverage, fault: Fault) -> bool:
    return fault in _MAY_HAVE_NO_STATES and coverage.unique == 0


def _others_explored(evidence: Evidence, holding: Holding, fault: Fault) -> bool:
    """Whether it was judged all the same: by its other faults, or by the kills that leave these."""
    if fault is Fault.POWER_LOSS:
        return any(one.point.fault is Fault.KILL for one in evidence.experiments)
    return bool(holding.evidence.experiments)


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
        notes.append(f"the fault {_words(left_out)} was not asked for")
    for fault in _ordered(faults_judged(evidence, contract)):
        coverage = evidence.coverage.get(fault)
        if contract.explores and coverage is not None and _has_no_states(coverage, fault):
            why = _MAY_HAVE_NO_STATES[fault]
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
    if isinstance(contract, TrialContract) and _without_experiments(evidence, contract) is None:
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
            for fault in _ordered({one.finding.point.fault for one in failures} & contract.faults)
        ),
        notes=notes,
        states_explored=explored,
        states_total=total,
    )


def _ordered(faults: Iterable[Fault]) -> list[Fault]:
    """In the order in which they are defined, so that nothing depends on a set's order."""
    wanted = set(faults)
    return [fault for fault in Fault if fault in wanted]


def _words(faults: Iterable[Fault]) -> str:
    return " or ".join(fault.value for fault in _ordered(faults))


def _more(count: int, noun: str) -> str:
    if count <= 0:
        return ""
    return f" (and {counted(count, f'more {noun}')})"
