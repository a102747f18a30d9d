"""``crash-during-recovery``: a resume that crashes too is no worse than the crash before it.

Judged by the table, from the states that a crash of a recorded resume leaves. Only resumes from
crashes that are survived are crashed again: what a single crash breaks is told by other contracts.

A job that gives a stage up after so many crashes may well refuse after the second one. That is told
from a fault by killing the run, and the resume after it, right when that stage starts: if it
refuses then too, its attempts were used up (:attr:`Experiment.spent`), and nothing is held against
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from checkpoint_contracts.evidence import Coverage, Evidence, Experiment, Fault, Reference
from checkpoint_contracts.execution import Execution
from checkpoint_contracts.ids import CRASH_DURING_RECOVERY
from checkpoint_contracts.stages import acknowledged, started
from checkpoint_contracts.tabled import tabled_findings
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, listed

_FAULTS: Final = frozenset({Fault.SECOND_CRASH})

_REMOVES: Final = re.compile(r"\b(unlink|rmdir|truncate|rename)\b")
_LOCK: Final = re.compile(r"(?<![a-z])lock|\.lck\b|\.pid\b|\bowner\b|\blease", re.IGNORECASE)

_DELETES_FIRST: Final = (
    "The recovery takes the old away (deletes, empties or moves it) before the new is in place, so "
    "that a crash in between leaves neither. Let it write what it restores to a temporary file, "
    "fsync it and os.replace() it onto the final name, and remove leftovers only after that."
)
_NOT_REPEATABLE: Final = (
    "The recovery cannot be begun twice: it trips over what its own first, interrupted try has "
    "left, or what it has put right already is put right once more. Let each of its steps come out "
    "the same however often it is done, and let nothing say that it is finished before it is."
)
_AGAIN: Final = (
    "What the resume has finished, or had found finished, is not on disk in the form in which the "
    "next resume looks for it. Save the progress after each stage and before its done line in a "
    "resume as in a first run."
)
_WAITS: Final = (
    "The second resume waits for something that only the crashed one could have finished (its "
    "lock, its mark 'in recovery'). Treat what a dead process has left in a recovery as in a run: "
    "take its lock over, begin again, and give every wait a deadline."
)


@dataclass(frozen=True, slots=True)
class CrashDuringRecovery:
    """The contract; it has no settings."""

    id: str = CRASH_DURING_RECOVERY
    promise: str = "a second crash, at any operation of the resume, is no worse than one"
    explanation: str = """\
What kills a job once kills it again: a machine short of memory, a node that is taken away every
hour. So a resume must itself be fit to be killed. From a crash that is survived the job is resumed,
and that resume is recorded as the run was. It is killed after each of its operations, and its
writes are cut short; from every state that this leaves, and that no single crash leaves, the job is
resumed again and checked. The contract is broken if that resume fails or does not end, if the check
fails or says something else than after the undisturbed run, if a stage runs again that was done
before, be it in the run or in the resume that crashed, and if one is skipped. What a single crash
breaks is left to the other contracts: a crash from which even the first resume does not end well,
and the operations of a resume that are of a kind at which one crash is not survived either. Nor is
it held against a job that it gives up a stage since crashes count as attempts: if it gives up as
well when the run and the resume are each killed right as that stage starts.

Up to eight resumes are crashed, no two of which begin with the same operations before they go on
as the undisturbed run does; each of their operations must be reached, or the contract is
inconclusive. They have a quarter of the time budget and of the states, apart from exploring; where
eight do not fit into that there are fewer, two at least, and a note says so. With
--checkpoint-exhaustive all are taken. --checkpoint-depth 1 switches this off; with 3 the resumes
from these states are crashed too, and so on.

It is broken by a recovery that deletes before it rewrites, by one that marks itself finished before
it is, by one that appends to what its first try has written, and by a backup that the second
recovery overwrites with the half-restored file.

Keep it: let the recovery be as careful as the run: write aside, fsync, os.replace(), and remove
what is left over last; let each step be one that can be done again."""
    faults: frozenset[Fault] = _FAULTS
    explores: bool = True
    needs: frozenset[str] = frozenset()

    def inapplicable(self, evidence: Evidence) -> str | None:
        return None

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return _findings(evidence.experiments, evidence.reference)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for again in _findings(replays, evidence.reference)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return _coverage(evidence).doubts

    def too_little(self, evidence: Evidence) -> str | None:
        if _coverage(evidence).derived:
            return None
        return (
            "there is no resume to crash: none that is survived does anything to the workspace or "
            "the events"
        )

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        coverage = _coverage(evidence)
        notes = list(coverage.left_out)
        if coverage.derived and not coverage.unique:
            notes.append(
                "the fault second-crash has no states of its own here: what it may leave, a single "
                "crash leaves too"
            )
        spent = [one.spent for one in evidence.experiments if one.spent]
        if spent:
            notes.append(
                f"not judged: {counted(len(spent), 'state')} in which the crashes have used up the "
                f"attempts of {listed(tuple(dict.fromkeys(spent)))}: killed as often right at its "
                "start, the job refuses too"
            )
        return tuple(notes)


def _coverage(evidence: Evidence) -> Coverage:
    nothing = Coverage(derived=0, unique=0, explored=0)
    return evidence.coverage.get(Fault.SECOND_CRASH, nothing)


def _findings(
    experiments: Iterable[Experiment], reference: Reference | None
) -> tuple[Finding, ...]:
    judged = [one for one in experiments if not one.spent]
    found = tabled_findings(CRASH_DURING_RECOVERY, judged, reference)
    return tuple(replace(one, likely_cause=_likely_cause(one)) for one in found)


def _likely_cause(finding: Finding) -> str:
    """A guess for people, by what the last crash stood at."""
    operation = finding.point.signature
    if finding.symptom.is_hang:
        return _WAITS
    if finding.symptom is Symptom.DONE_AGAIN:
        return _AGAIN
    text = _DELETES_FIRST if _REMOVES.search(operation) else _NOT_REPEATABLE
    if finding.symptom is Symptom.RESUME_FAILED and _LOCK.search(operation):
        text = _WAITS
    return text


def under_way(stages: Iterable[str], events: Iterable[str]) -> frozenset[str]:
    """The stages that a crash may have interrupted: begun and not done, and the next to begin.

    One may be on its way, and be counted as an attempt, before it says so.

    >>> sorted(under_way(["a", "b", "c", "d"], ["start a", "done a", "start b"]))
    ['b', 'c']
    """
    written = tuple(events)
    done, begun = acknowledged(written), started(written)
    left = [name for name in stages if name not in done]
    fresh = [name for name in left if name not in begun]
    return frozenset({*(set(left) & begun), *fresh[:1]})


def is_refusal(resume: Execution) -> bool:
    """It ended by itself, not with exit 0, and said something."""
    return resume.exit_code not in (None, 0) and bool(resume.output.strip())


crash_during_recovery: Final = CrashDuringRecovery()
