"""Contracts that take their findings from trials: one trial by itself shows whether it was broken.

What one trial shows is either findings (none: the promise was kept) or, where nothing may be
concluded from it, a sentence. A fault that did not fire is such a case: it makes the contract
inconclusive and never passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import (
    Coverage,
    Evidence,
    Execution,
    Fault,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.resume_contracts import STAGES, no_stage
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, differing, ending, last_line, quoted

Seen = tuple[Finding, ...] | str
"""What a trial shows; text: why nothing may be concluded from it."""

_WORDS: Final = {
    TrialKind.RAISES_ONCE: "a stage that raises once",
    TrialKind.RAISES_ALWAYS: "a stage that always raises",
    TrialKind.KILLED_ALWAYS: "a stage that is killed at every attempt",
    TrialKind.CHANGED: "a pipeline that has changed",
    TrialKind.NO_SPACE: "a disk that is full",
    TrialKind.IO_ERROR: "a call that fails",
    TrialKind.FAILED_SYNC: "a power loss after a failed sync",
    TrialKind.SIGNALLED: "a signal to end",
    TrialKind.GRACE_TOO_SHORT: "a kill soon after the signal",
    TrialKind.CRASH_LOOP: "kills in a row",
    TrialKind.LOST_REPLY: "a reply that is lost",
    TrialKind.TWO_SENDERS: "two starts at the same instant",
    TrialKind.BYSTANDER: "files and a process of others beside the job",
    TrialKind.SECOND_START: "a second start beside a job that stands",
    TrialKind.SAME_INSTANT: "two starts at the same instant",
    TrialKind.DEAD_HOLDER: "a start after the owner's death",
    TrialKind.NUMBER_REUSED: "a dead owner whose number is another's",
    TrialKind.STOPPED: "a job that is stopped",
    TrialKind.DEAD: "a job that is killed while it is watched",
    TrialKind.REUSED: "a dead job whose number is another's",
    TrialKind.HELD: "a call that takes long",
    TrialKind.SLOW_CALLS: "calls that are slow throughout",
    TrialKind.LOADED: "a loaded machine",
    TrialKind.CLOCK_SET: "a wall clock that is set",
    TrialKind.BLOCKED: "work that waits within a call",
    TrialKind.STORE_LIES: "an upload that is not stored as it was sent",
    TrialKind.STORE_SIGNALLED: "a signal to end during an upload",
    TrialKind.STORE_FAILS_ONCE: "an upload that fails once",
    TrialKind.STORE_FAILS: "an upload that always fails",
    TrialKind.STORE_REFUSES: "an upload that is refused",
    TrialKind.RECONCILED: "a bucket that was changed",
    TrialKind.STAGING_FULL: "a staging that is full",
    TrialKind.STAGING_GONE: "a staging that has gone",
    TrialKind.STAGING_LEFT: "a staging that a kill has left full",
    TrialKind.STORE_HEALTHY: "a store that is well",
    TrialKind.STORE_SLOW: "a store that is slow",
    TrialKind.STORE_STALLED: "a store that never answers",
    TrialKind.STORE_RECOVERS: "a store that stalls and recovers",
    TrialKind.SHARDS_TOGETHER: "two shards at the same instant",
    TrialKind.SHARDS_IN_TURN: "shards one after the other",
    TrialKind.SHARD_KILLED: "a shard that is killed",
}


def _nothing(evidence: Evidence) -> tuple[str, ...]:
    return ()


def _no_reason(evidence: Evidence) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialContract:
    """A contract that needs runs of the subject with a fault that answers."""

    id: str
    promise: str
    explanation: str
    kinds: tuple[TrialKind, ...]
    """The trials that it is judged by."""
    needs: frozenset[str]
    look: Callable[[Trial, Evidence, Reference], Seen]
    """What one trial shows, all of whose executions are usable."""
    may_lack: frozenset[TrialKind] = frozenset()
    """Kinds of which a subject may have nothing to try."""
    without: str = ""
    """Why there may be nothing to try at all."""
    gaps_of_all: Callable[[Evidence], tuple[str, ...]] = _nothing
    """What only all trials together show to be inconclusive, a sentence each."""
    notes_of_all: Callable[[Evidence], tuple[str, ...]] = _nothing
    excused: Callable[[Evidence], str | None] = _no_reason
    """Why what the subject declares shows that it does not apply."""
    explores: bool = False

    @property
    def faults(self) -> frozenset[Fault]:
        return frozenset(kind.fault for kind in self.kinds)

    def kinds_judged(self, evidence: Evidence) -> tuple[TrialKind, ...]:
        """Those of its kinds whose fault was asked for and can be trusted."""
        faults = evidence.faults - evidence.unobservable.keys()
        return tuple(kind for kind in self.kinds if kind.fault in faults)

    def coverages(self, evidence: Evidence) -> tuple[Coverage, ...]:
        """How much was tried, of each of its kinds of which that is known."""
        known = evidence.trial_coverage
        return tuple(known[kind] for kind in self.kinds_judged(evidence) if kind in known)

    def inapplicable(self, evidence: Evidence) -> str | None:
        # A subject that declares nothing is told what to declare, not that it lacks stages too.
        declared = STAGES in self.needs <= evidence.capabilities | {STAGES}
        reason = no_stage(evidence) if declared else None
        return reason or self.excused(evidence)

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return tuple(
            finding
            for trial in self._trials(evidence)
            if not isinstance(seen := self._look(trial, evidence), str)
            for finding in seen
        )

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.trial_replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for replay in replays
            if not isinstance(seen := self._look(replay, evidence), str)
            for again in seen
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        sentences = [*self._untried(evidence), *self.gaps_of_all(evidence)]
        for trial in self._trials(evidence):
            seen = self._look(trial, evidence)
            if isinstance(seen, str):
                sentences.append(seen)
        return tuple(dict.fromkeys(sentences))

    def too_little(self, evidence: Evidence) -> str | None:
        if self.without and not any(one.unique for one in self.coverages(evidence)):
            return self.without
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return self.notes_of_all(evidence)

    def _trials(self, evidence: Evidence) -> Iterator[Trial]:
        kinds = self.kinds_judged(evidence)
        return (trial for trial in evidence.trials if trial.kind in kinds)

    def _look(self, trial: Trial, evidence: Evidence) -> Seen:
        if evidence.reference is None:
            return "there is no undisturbed run to hold the trials against"
        return unusable(trial) or self.look(trial, evidence, evidence.reference)

    def _untried(self, evidence: Evidence) -> Iterator[str]:
        for kind in self.kinds_judged(evidence):
            coverage = evidence.trial_coverage.get(kind)
            if coverage is None:
                yield f"how much was tried of {_WORDS[kind]} is not known"
                continue
            nothing_to_try = kind in self.may_lack and not coverage.unique
            if not nothing_to_try and not any(trial.kind is kind for trial in evidence.trials):
                yield f"nothing was tried of {_WORDS[kind]}"
            if coverage.unreached:
                rest = len(coverage.unreached) - 1
                more = f" (and {counted(rest, 'more trial')})" if rest else ""
                yield (
                    f"the budget ended too early: not tried is: {coverage.unreached[0]}{more}; "
                    "--checkpoint-time-budget gives the trials more"
                )
            if coverage.known_hangs:
                yield (
                    f"not tried: {counted(len(coverage.known_hangs), 'trial')} of "
                    f"{_WORDS[kind]} (two hung already); --checkpoint-deadline gives them more time"
                )


# --- what the contracts have in common ---


def unusable(trial: Trial) -> str | None:
    """Why an execution of the trial says nothing; None if all may be used."""
    executions = [leg.execution for leg in (*trial.legs, *trial.unspoilt)]
    executions += filter(None, (trial.check, trial.unspoilt_check, trial.unresumed_check))
    if trial.pair is not None:
        executions += filter(None, (trial.pair.second, trial.pair.then))
    for execution in executions:
        if not execution.usable:
            return f"{trial.point.operation}: {execution.refusal or execution.problem}"
    return None


def lines(leg: Leg, verb: str, name: str) -> int:
    """How often this leg wrote ``VERB NAME``."""
    return leg.events.count(f"{verb} {name}")


def did_not_fire(trial: Trial, why: str) -> str:
    return f"the fault did not fire: {trial.point.operation}: {why}"


def finding(
    contract: str,
    trial: Trial,
    symptom: Symptom,
    what: str,
    *,
    expected: str,
    seen: str,
    cause: str,
) -> Finding:
    """``what``: the second half of the headline."""
    return Finding(
        contract=contract,
        point=trial.point,
        symptom=symptom,
        headline=f"{trial.point.operation}: {what}",
        expected=expected,
        seen=seen,
        likely_cause=cause,
    )


def told(leg: Leg) -> str:
    """``the run exits 1 and says last: ValueError: …``."""
    if leg.killed:
        return f"the {leg.command} was killed at the line that was waited for"
    text = f"the {leg.command} {ending(leg.execution)}"
    if leg.execution.output.strip():
        return f"{text} and says last: {last_line(leg.execution.output)}"
    return f"{text} and says nothing"


def wrong_check(check: Execution, wanted: Execution) -> tuple[Symptom, str, str, str] | None:
    """Symptom, headline's words, expected and seen of a check; None if it says what is wanted."""
    if check.succeeded and check.output == wanted.output:
        return None
    if check.succeeded:
        expected, seen = differing(wanted.output, check.output)
        return (
            Symptom.DIFFERENT_RESULT,
            "another result",
            f"the check says: {expected}",
            f"the check says: {seen}",
        )
    said = check.output + check.error_output
    return (
        Symptom.CHECK_HANG if check.timed_out else Symptom.CHECK_FAILED,
        f"a check that {ending(check)}",
        f"the check exits 0 and says: {quoted(wanted.output)}",
        f"the check {ending(check)}" + (f" and says: {quoted(said)}" if said.strip() else ""),
    )
