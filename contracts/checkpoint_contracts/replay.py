"""Replay before report: a failure counts when it shows again.

The first failure of each cause (contract, fault, operation signature, kind of symptom) is replayed
and the rest are counted with it. If it does not show again, the next of that cause is tried, up to
three. If none shows again, the cause was *not repeated*: a flaky subject.

To bound the time, of one contract no more is replayed than five causes that are confirmed, and one
hang for each fault; every fault may still confirm one. What is left is *not tried*, and counted.

A hang whose replay ended in time is none (:mod:`checkpoint_contracts.settle`); it uses up one of
the three tries of its cause. When three were used up so, further hangs of that cause are taken for
what those were: *slow*.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Fault
from checkpoint_contracts.settle import SlowEnd, settled
from checkpoint_contracts.tried import TrialContract
from checkpoint_contracts.verdict import Finding, Symptom

TRIES: Final = 3
ENOUGH_CAUSES: Final = 5


class Standing(enum.Enum):
    CONFIRMED = "confirmed"
    TO_REPLAY = "to be replayed"
    NOT_REPEATED = "not repeated"
    SLOW = "slow"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings of one cause, and how far they hold."""

    findings: tuple[Finding, ...]
    standing: Standing
    chosen: Finding
    """The confirmed finding, the next to be replayed, or the first."""

    @property
    def fault(self) -> Fault:
        return self.chosen.point.fault

    @property
    def is_hang(self) -> bool:
        return self.chosen.symptom.is_hang


@dataclass(frozen=True, slots=True)
class Holding:
    """What holds of one contract's findings."""

    evidence: Evidence
    """Slow ends in the place of hangs, states that cannot be trusted left out."""
    causes: tuple[Cause, ...]
    slow: tuple[SlowEnd, ...]

    def standing(self, standing: Standing) -> tuple[Cause, ...]:
        return tuple(cause for cause in self.causes if cause.standing is standing)


def hold(evidence: Evidence, contract: Contract) -> Holding:
    """Which of a contract's findings hold, by the replays that were made so far."""
    judged, slow = settled(_trusted(evidence, contract))
    groups: dict[tuple[Fault, tuple[str, str, Symptom]], list[Finding]] = {}
    for finding in contract.findings(judged):
        groups.setdefault((finding.point.fault, finding.cause), []).append(finding)
    causes = [_cause(judged, contract, group, slow) for group in groups.values()]
    return Holding(judged, tuple(_bounded(causes)), slow)


def _trusted(evidence: Evidence, contract: Contract) -> Evidence:
    """Without the states of faults that it does not look at, or that cannot be trusted."""
    faults = faults_judged(evidence, contract) - evidence.unobservable.keys()
    return replace(
        evidence,
        partial_outputs=tuple(one for one in evidence.partial_outputs if one.point.fault in faults),
        markers_ahead=tuple(one for one in evidence.markers_ahead if one.point.fault in faults),
        experiments=tuple(one for one in evidence.experiments if one.point.fault in faults),
        replays=tuple(one for one in evidence.replays if one.point.fault in faults),
        trials=tuple(one for one in evidence.trials if one.point.fault in faults),
        trial_replays=tuple(one for one in evidence.trial_replays if one.point.fault in faults),
    )


def faults_judged(evidence: Evidence, contract: Contract) -> frozenset[Fault]:
    """The faults of a contract that were asked for."""
    return contract.faults & evidence.faults


def _cause(
    evidence: Evidence, contract: Contract, group: Sequence[Finding], slow: Iterable[SlowEnd]
) -> Cause:
    first = group[0]
    tries = TRIES - sum(
        first.symptom is end.symptom
        and first.point.fault is end.point.fault
        and first.point.signature == end.point.signature
        for end in slow
    )
    findings = tuple(group)
    if tries <= 0:
        return Cause(findings, Standing.SLOW, first)
    for finding in group[:tries]:
        repeated = contract.repeated(evidence, finding)
        if repeated is None:
            return Cause(findings, Standing.TO_REPLAY, finding)
        if repeated:
            return Cause(findings, Standing.CONFIRMED, finding)
    return Cause(findings, Standing.NOT_REPEATED, first)


def _bounded(causes: Sequence[Cause]) -> Iterator[Cause]:
    """The causes, those that need not be replayed any more marked as not tried."""
    confirmed = [cause for cause in causes if cause.standing is Standing.CONFIRMED]
    faults = {cause.fault for cause in confirmed}
    hanging = {cause.fault for cause in confirmed if cause.is_hang}
    for cause in causes:
        enough = len(confirmed) >= ENOUGH_CAUSES and cause.fault in faults
        if cause.standing is Standing.TO_REPLAY and (
            enough or (cause.is_hang and cause.fault in hanging)
        ):
            yield replace(cause, standing=Standing.NOT_TRIED)
        else:
            yield cause


def next_replays(evidence: Evidence, contract: Contract) -> tuple[CrashPoint, ...]:
    """The points that one contract wants replayed now; no more than might be needed.

    Of hangs one at a time, since the first that is confirmed is enough and each takes long.
    """
    if not (contract.explores or isinstance(contract, TrialContract)):
        return ()
    holding = hold(evidence, contract)
    confirmed = holding.standing(Standing.CONFIRMED)
    covered = {cause.fault for cause in confirmed}
    count = len(confirmed)
    hanging: set[Fault] = set()
    wanted: list[CrashPoint] = []
    for cause in holding.standing(Standing.TO_REPLAY):
        if count >= ENOUGH_CAUSES and cause.fault in covered:
            continue
        if cause.is_hang and cause.fault in hanging:
            continue
        if cause.is_hang:
            hanging.add(cause.fault)
        covered.add(cause.fault)
        count += 1
        wanted.append(cause.chosen.point)
    return tuple(wanted)
