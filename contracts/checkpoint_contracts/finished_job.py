"""``resume-is-idempotent``: what resuming a finished job does to it.

Judged from the undisturbed run alone: the kit resumes the finished job, looks at what has changed,
and where something has that matters, does the same again from the same state. What shows only once
is flaky and accuses nobody. No fault is needed and none is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import CHANGES_WHEN_FINISHED, EFFECT_TWICE, RUNS_WHEN_FINISHED
from checkpoint_contracts.cost import repeats_all_it_did
from checkpoint_contracts.evidence import (
    CrashPoint,
    Evidence,
    Execution,
    Fault,
    Finished,
    Reference,
)
from checkpoint_contracts.ids import RESUME_IS_IDEMPOTENT
from checkpoint_contracts.keeps_work import FINISHED_SIGNATURE
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, differing, ending, listed, listed_lines, quoted

_STAGE_LINES: Final = ("start", "done", "fail")
_NOTES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class ResumeIsIdempotent:
    """The contract; it has no settings."""

    id: str = RESUME_IS_IDEMPOTENT
    promise: str = "resuming a finished job changes nothing that matters"
    explanation: str = """\
A job that has finished is started again by schedulers, by scripts and by people who are not sure.
After the undisturbed run the job is resumed once more. The check must say the same as before, no
output (a file that matches the declared globs) may have come, gone, or changed in its bytes or its
mode, nor, where an object store is declared, an object in its bytes, no new start, done or fail
line may have been written to $CHECKPOINT_EVENTS, and where effects are declared none may have
arrived. Other files that changed, a log say, are told in a note. Times do not count, nor what the
ephemeral globs match. If something shows, it must show again when the finished job is resumed a
second time. Crashes have no part in this, so the contract is judged whichever faults are asked for.

It is broken by a counter that goes up at each start, by a time stamp in an output that is written
at each start, by an append where a replacement was meant, and by a job that runs its last step
again.

Keep it: find out at the start whether the job is done, and if so return before anything is written;
keep what changes at every start (counters, times) out of the outputs."""
    faults: frozenset[Fault] = frozenset()
    explores: bool = False
    needs: frozenset[str] = frozenset()

    def inapplicable(self, evidence: Evidence) -> str | None:
        return None

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        reference = evidence.reference
        if reference is None:
            return ()
        return tuple(_findings(reference, reference.finished))

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        reference = evidence.reference
        if reference is None or reference.finished_again is None:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for again in _findings(reference, reference.finished_again)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        reference = evidence.reference
        if reference is None:
            return ()
        sentences = [_gap(reference.finished)]
        if reference.finished_again is not None:
            sentences.append(_gap(reference.finished_again))
        return tuple(sentence for sentence in sentences if sentence)

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        reference = evidence.reference
        if reference is None or not reference.finished_notes:
            return ()
        shown = "; ".join(reference.finished_notes[:_NOTES_SHOWN])
        rest = len(reference.finished_notes) - _NOTES_SHOWN
        more = f"; and {rest} more" if rest > 0 else ""
        return (f"resuming the finished job changes files that are no outputs: {shown}{more}",)


def wants_second_look(reference: Reference, restart_ratio: float = 0.9) -> bool:
    """Whether the finished job must be resumed again, to see whether what was seen repeats.

    ``resume-keeps-work`` wants it too, of a job that writes everything again (whatever CPU it seems
    to have used: one look at that may mislead either way), and ``owns-only-its-own`` of one that
    signals others.
    """
    if any(True for _ in _findings(reference, reference.finished)):
        return True
    if reference.finished_resume.strayed:
        return True
    return repeats_all_it_did(reference.finished_resume, reference.run, restart_ratio)


def _gap(finished: Finished) -> str | None:
    check = finished.check
    for execution in (finished.resume, check):
        if execution is not None and not execution.usable:
            return execution.refusal or execution.problem
    if not finished.resume.succeeded:
        return f"the resume of the finished job {ending(finished.resume)}"
    if check is None:
        return "the check was not run after the resume of the finished job"
    return None


def _findings(reference: Reference, finished: Finished) -> Iterator[Finding]:
    """At most one of each kind."""
    if _gap(finished) is not None or finished.check is None:
        return
    check = finished.check
    if not check.succeeded or check.output != reference.check.output:
        yield _wrong_check(reference, check)
    if finished.changes:
        yield _finding(
            reference,
            Symptom.OUTPUT_CHANGED,
            f"changes {counted(len(finished.changes), 'output')}: {finished.changes[0]}",
            ("every output as it was: names, bytes, mode", listed_lines(finished.changes)),
            CHANGES_WHEN_FINISHED,
        )
    if finished.effects:
        sent = tuple(f"{one.kind} {one.id}".rstrip() for one in finished.effects)
        yield _finding(
            reference,
            Symptom.EFFECT_TWICE,
            f"sends something again ({listed(sent)})",
            ("nothing is sent: all had arrived", f"arrived besides: {listed(sent)}"),
            EFFECT_TWICE,
        )
    lines = _stage_lines(finished)
    if lines:
        yield _finding(
            reference,
            Symptom.RUNS_AGAIN,
            f"runs something again ({listed(lines)})",
            ("no new start, done or fail line", "the resume appended " + listed(lines)),
            RUNS_WHEN_FINISHED,
        )


def _wrong_check(reference: Reference, check: Execution) -> Finding:
    expected = f"the check exits 0 and says: {quoted(reference.check.output)}"
    if check.succeeded:
        wanted, said = differing(reference.check.output, check.output)
        symptom, what = Symptom.DIFFERENT_RESULT, "has another result than before"
        expected, seen = f"the check says: {wanted}", f"the check says: {said}"
    else:
        symptom = Symptom.CHECK_HANG if check.timed_out else Symptom.CHECK_FAILED
        what = f"exits 0, but the check {ending(check)}"
        text = check.output + check.error_output
        seen = f"the check {ending(check)}" + (f" and says: {quoted(text)}" if text.strip() else "")
    return _finding(reference, symptom, what, (expected, seen), CHANGES_WHEN_FINISHED)


def _stage_lines(finished: Finished) -> tuple[str, ...]:
    return tuple(line for line in finished.events if line.partition(" ")[0] in _STAGE_LINES)


def _finding(
    reference: Reference, symptom: Symptom, what: str, texts: tuple[str, str], cause: str
) -> Finding:
    expected, seen = texts
    return Finding(
        contract=RESUME_IS_IDEMPOTENT,
        point=finished_point(reference),
        symptom=symptom,
        headline=f"resumed after it had finished: the resume {what}",
        expected=expected,
        seen=seen,
        likely_cause=cause,
    )


def finished_point(reference: Reference) -> CrashPoint:
    """Where the job had finished, in the words of a replay: the kill after the last operation."""
    steps = reference.steps or reference.run.operations
    return CrashPoint(
        fault=Fault.KILL,
        step=steps,
        variant="kill",
        operation="the job had finished",
        signature=FINISHED_SIGNATURE,
        total_steps=steps,
    )


resume_is_idempotent: Final = ResumeIsIdempotent()
