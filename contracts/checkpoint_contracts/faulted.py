"""What a run shows in which something failed: the rules that a full disk and an I/O error share.

In this order:

1.  the run passes its deadline → failed: hang
2.  it exits 0 → the check must say what it says undisturbed; where there are stages the job is
    resumed once more, which must exit 0 and start no stage whose done line stands there
3.  it exits otherwise, or dies by a signal → it must have said something; and the resume, without
    the fault, must exit 0, start no stage whose done line stands there, and the check must say what
    it says undisturbed

How a run copes, whether it tries again, waits, does without or gives up, is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checkpoint_contracts.evidence import Reference, Trial
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import Seen, finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, ending, listed, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Causes:
    """The likely cause of each way to break the promise, and how to mend it."""

    success: str
    """The run exits 0 with a wrong result."""
    silence: str
    """It fails without a word."""
    trips: str
    """The resume fails, hangs, or ends with a wrong result."""
    forgets: str
    """The resume starts what was done."""
    hang: str
    """The run does not end."""

    def of(self, symptom: Symptom) -> str:
        match symptom:
            case Symptom.ERROR_AS_SUCCESS:
                return self.success
            case Symptom.SILENT_STOP:
                return self.silence
            case Symptom.DONE_AGAIN:
                return self.forgets
            case _:
                return self.trips


def seen_of_run(contract: str, causes: Causes, trial: Trial, reference: Reference) -> Seen:
    """What a trial shows whose first leg is the run with the fault."""
    run = trial.legs[0]
    if run.execution.timed_out:
        return (_hangs(contract, causes, trial, run),)
    if run.execution.succeeded:
        return _after_success(contract, causes, trial, reference)
    resumed = seen_of_resume(contract, causes, trial, reference)
    if isinstance(resumed, str) or run.execution.output.strip():
        return resumed
    return (_silent(contract, causes, trial, run), *resumed)


def seen_of_resume(contract: str, causes: Causes, trial: Trial, reference: Reference) -> Seen:
    """What the resume after the run shows, and the check after it."""
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the job was not resumed after it had stopped"
    resume = trial.legs[-1]
    if resume.execution.succeeded and trial.check is None:
        return f"{trial.point.operation}: the check was not run after the resume"
    wrong = _wrong_resume(trial, resume, reference)
    found = [] if wrong is None else [_found(contract, causes, trial, *wrong)]
    found += _done_again(contract, causes, trial, reference)
    return tuple(found)


def result_wrong(trial: Trial, reference: Reference) -> tuple[Symptom, str, tuple[str, str]] | None:
    """How the result of a run that exits 0 is wrong, without a resume; there is a check."""
    assert trial.check is not None
    wrong = wrong_check(trial.check, reference.check)
    if wrong is None:
        return None
    symptom, words, expected, seen = wrong
    what = f"the run exits 0 with {words}{_gone(trial, reference)}"
    if symptom is Symptom.CHECK_HANG:
        return symptom, what, (expected, seen)
    wanted = f"the result of the undisturbed run, or an exit code other than 0; {expected}"
    return Symptom.ERROR_AS_SUCCESS, what, (wanted, f"{told(trial.legs[0])}; {seen}")


def _after_success(contract: str, causes: Causes, trial: Trial, reference: Reference) -> Seen:
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run after the run"
    wrong = result_wrong(trial, reference)
    if wrong is not None:
        return (_found(contract, causes, trial, *wrong),)
    return tuple(_resumed_when_done(contract, causes, trial, reference))


def _resumed_when_done(
    contract: str, causes: Causes, trial: Trial, reference: Reference
) -> Iterator[Finding]:
    """The result was right before; what the resume makes of it later is not looked at."""
    if len(trial.legs) < 2:
        return
    resume = trial.legs[-1]
    if not resume.execution.succeeded:
        symptom, _, texts = _failed(resume, reference)
        what = f"the run exits 0, and then the resume {ending(resume.execution)}"
        yield _found(contract, causes, trial, symptom, what, texts)
    yield from _done_again(contract, causes, trial, reference)


def _wrong_resume(
    trial: Trial, resume: Leg, reference: Reference
) -> tuple[Symptom, str, tuple[str, str]] | None:
    if not resume.execution.succeeded:
        return _failed(resume, reference)
    assert trial.check is not None
    wrong = wrong_check(trial.check, reference.check)
    if wrong is None:
        return None
    symptom, words, expected, seen = wrong
    return symptom, f"the resume exits 0 with {words}", (expected, seen)


def _failed(resume: Leg, reference: Reference) -> tuple[Symptom, str, tuple[str, str]]:
    symptom = Symptom.HANG if resume.execution.timed_out else Symptom.RESUME_FAILED
    expected = f"the resume exits 0 and the check says: {quoted(reference.check.output)}"
    return symptom, f"the resume {ending(resume.execution)}", (expected, told(resume))


def _done_again(
    contract: str, causes: Causes, trial: Trial, reference: Reference
) -> Iterator[Finding]:
    run, resume = trial.legs[0], trial.legs[-1]
    before = (*trial.events_before, *run.events)
    again = done_again(stage_names(reference.events), before, resume.events)
    if again:
        yield _found(
            contract,
            causes,
            trial,
            Symptom.DONE_AGAIN,
            f"the resume runs {listed(again)} again, which had been done",
            (
                f"no start line for {listed(again)}: the run had written the done line",
                "the resume appended " + listed(tuple(f"start {name}" for name in again)),
            ),
        )


def _silent(contract: str, causes: Causes, trial: Trial, run: Leg) -> Finding:
    how = ending(run.execution)
    return _found(
        contract,
        causes,
        trial,
        Symptom.SILENT_STOP,
        f"the run {how} without a word",
        ("a word of what went wrong, on standard output or standard error", told(run)),
    )


def _hangs(contract: str, causes: Causes, trial: Trial, run: Leg) -> Finding:
    return finding(
        contract,
        trial,
        Symptom.HANG,
        f"the run {ending(run.execution)}",
        expected="the run ends by its deadline, well or with a word of why",
        seen=told(run),
        cause=causes.hang,
    )


def _found(
    contract: str,
    causes: Causes,
    trial: Trial,
    symptom: Symptom,
    what: str,
    texts: tuple[str, str],
) -> Finding:
    expected, seen = texts
    return finding(
        contract, trial, symptom, what, expected=expected, seen=seen, cause=causes.of(symptom)
    )


def _gone(trial: Trial, reference: Reference) -> str:
    """``, 6 of 8 stages not done``, where that shows."""
    stages = stage_names(reference.events)
    lines = {*trial.events_before, *trial.legs[0].events}
    missing = sum(f"done {stage}" not in lines for stage in stages)
    return f", {missing} of {counted(len(stages), 'stage')} not done" if missing else ""
