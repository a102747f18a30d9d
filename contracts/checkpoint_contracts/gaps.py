"""Rule 6 of the judgement: what was not concluded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import RESTORED, Coverage, Evidence, Fault
from checkpoint_contracts.replay import Holding, Standing, faults_judged
from checkpoint_contracts.table import gap
from checkpoint_contracts.wording import and_more, counted, in_order

MAY_HAVE_NO_STATES: Final[Mapping[Fault, str]] = MappingProxyType(
    {
        Fault.TORN: "no write can be cut",
        Fault.POWER_LOSS: "what it may leave, a kill leaves too",
    }
)
"""Of these an undisturbed run may have none at all, and why."""

_SAYS_ITSELF: Final = frozenset({Fault.SECOND_CRASH, Fault.DAMAGE})
"""Of these the contract itself says what it means that there are no states."""


def gaps_of(evidence: Evidence, contract: Contract, holding: Holding) -> tuple[str, ...]:
    """Rule 6: why it would be inconclusive, were nothing confirmed; each sentence once."""
    sentences: list[str] = []
    for fault in in_order(faults_judged(evidence, contract)):
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
        has_no_states(coverage, fault) and _others_explored(evidence, holding, fault)
    )
    explored = any(one.point.fault is fault for one in holding.evidence.experiments)
    if not explored and not nothing_to_explore:
        sentences.append(f"no state of the fault {fault} was explored")
    if coverage.unreached:
        sentences.append(
            f"the budget ended too early: not covered is {coverage.unreached[0]}"
            + and_more(len(coverage.unreached) - 1, "operation")
            + "; --checkpoint-time-budget and --checkpoint-max-states give it more"
        )
    if coverage.known_hangs:
        sentences.append(
            f"not explored: {counted(len(coverage.known_hangs), 'state')} (known hang at "
            f"{coverage.known_hangs[0].operation}); --checkpoint-deadline gives a resume more time"
        )
    return sentences


def has_no_states(coverage: Coverage, fault: Fault) -> bool:
    return fault in MAY_HAVE_NO_STATES and coverage.unique == 0


def _others_explored(evidence: Evidence, holding: Holding, fault: Fault) -> bool:
    """Whether it was judged all the same: by its other faults, or by the kills that leave these."""
    if fault is Fault.POWER_LOSS:
        return any(one.point.fault is Fault.KILL for one in evidence.experiments)
    return bool(holding.evidence.experiments)
