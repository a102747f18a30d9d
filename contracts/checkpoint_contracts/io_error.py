"""``io-error-is-not-success``: a call of the run fails, or carries out a part of what it should.

The rules are those of :mod:`checkpoint_contracts.faulted`; and after a failed sync the power is
lost as well, and the resume must do as the table says of power losses. Nothing is concluded where
the fault did not fire, or where the way up to it was not that of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.faulted import Causes, seen_of_resume, seen_of_run
from checkpoint_contracts.ids import IO_ERROR_IS_NOT_SUCCESS
from checkpoint_contracts.tried import (
    Seen,
    TrialContract,
    did_not_fire,
    finding,
    told,
    unusable,
    wrong_check,
)
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import listed_lines

_CAUSES: Final = Causes(
    success=(
        "The error of a call, or the count that a write returns, is not looked at, and what was "
        "not written is taken as done. Check what os.write() returns and go on with the rest; let "
        "every error of a write, fsync, close or rename stop the stage, and exit with a code other "
        "than 0."
    ),
    silence=(
        "The job stops without a word, so nobody learns which file could not be written. Print "
        "the path and the error before it exits."
    ),
    trips=(
        "What the failed call left (a file without its end, a name without its file, a lock) is "
        "in the way of the resume. Write a temporary file, flush and fsync it, os.replace() it "
        "only when all of that went well, and write over what an earlier attempt left."
    ),
    forgets=(
        "A done line is written although a call failed that was to save the progress, or the "
        "error throws away what was saved before. Write the done line last, after the fsync and "
        "the rename, and leave the old state alone until the new one is whole."
    ),
    hang=(
        "The call is tried again without end. Give up after a number of attempts, with a sentence."
    ),
)

_SYNC_CAUSES: Final = replace(
    _CAUSES,
    trips=(
        "The error of a sync is ignored, or the sync is tried again and its success believed: the "
        "kernel has dropped the data by then, and says nothing of it the second time. After a "
        "failed sync take the file for lost: write a new one and sync that, or stop."
    ),
    forgets=(
        "A done line is written although the sync before it failed, or after a second sync of the "
        "same file, which proves nothing. Write a new file and sync that, or stop without the done "
        "line."
    ),
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    shown = trial.shown
    if shown is None or shown.step is None:
        return did_not_fire(trial, f"{told(trial.legs[0])}{_differing(trial)}")
    if shown.drift:
        return f"{trial.point.operation}: {shown.drift}"
    if trial.kind is TrialKind.FAILED_SYNC:
        return _after_power_loss(trial, reference)
    return seen_of_run(IO_ERROR_IS_NOT_SUCCESS, _CAUSES, trial, reference)


def _after_power_loss(trial: Trial, reference: Reference) -> Seen:
    seen = seen_of_resume(IO_ERROR_IS_NOT_SUCCESS, _SYNC_CAUSES, trial, reference)
    if isinstance(seen, str):
        return seen
    anyway = _shown_anyway(trial, reference)
    if isinstance(anyway, str):
        return anyway
    seen = tuple(one for one in seen if one.symptom.kind not in anyway)
    seen += tuple(_lost_after_exit(trial, reference))
    if not trial.lost:
        return seen
    lost = f"lost with the power:\n{listed_lines(trial.lost)}"
    return tuple(replace(finding, seen=f"{finding.seen}\n{lost}") for finding in seen)


def _shown_anyway(trial: Trial, reference: Reference) -> frozenset[Symptom] | str:
    """What the same loss shows where the sync had succeeded: no matter of the failed sync."""
    if not trial.unspoilt:
        return frozenset()
    legs = (trial.legs[0], *trial.unspoilt)
    twin = replace(trial, legs=legs, check=trial.unspoilt_check, unspoilt=())
    seen = seen_of_resume(IO_ERROR_IS_NOT_SUCCESS, _SYNC_CAUSES, twin, reference)
    return seen if isinstance(seen, str) else frozenset(one.symptom.kind for one in seen)


def shows_loss(trial: Trial, reference: Reference) -> bool:
    """Whether a power loss after a failed sync shows something: then its twin has to be seen."""
    if unusable(trial) is not None:
        return False
    seen = seen_of_resume(IO_ERROR_IS_NOT_SUCCESS, _SYNC_CAUSES, trial, reference)
    return bool(seen) and not isinstance(seen, str)


def shows_same_loss(trial: Trial, twin: Trial, reference: Reference) -> bool:
    """Whether a twin of a power loss after a failed sync runs the very same stages again.

    Only that is compared: a resume that fails may do so for more than one reason, but a stage
    whose done line was lost in both was not lost by what stands in one of them alone.
    """
    if unusable(trial) is not None or unusable(twin) is not None:
        return False
    shown, again = (
        seen_of_resume(IO_ERROR_IS_NOT_SUCCESS, _SYNC_CAUSES, one, reference)
        for one in (trial, twin)
    )
    if isinstance(shown, str) or isinstance(again, str):
        return False
    if any(one.symptom is not Symptom.DONE_AGAIN for one in (*shown, *again)):
        return False
    return [one.headline for one in shown] == [one.headline for one in again] != []


def _lost_after_exit(trial: Trial, reference: Reference) -> Iterator[Finding]:
    """Exit 0 acknowledges, and what it acknowledged is gone."""
    check = trial.unresumed_check
    wrong = wrong_check(check, reference.check) if check is not None else None
    if wrong is not None:
        _, words, expected, seen = wrong
        yield finding(
            IO_ERROR_IS_NOT_SUCCESS,
            trial,
            Symptom.LOST_AFTER_EXIT,
            f"the job had exited 0, and without a resume there is {words}",
            expected=expected,
            seen=seen,
            cause=_SYNC_CAUSES.forgets,
        )


def _differing(trial: Trial) -> str:
    return f"; {trial.shown.drift}" if trial.shown is not None and trial.shown.drift else ""


io_error_is_not_success: Final = TrialContract(
    id=IO_ERROR_IS_NOT_SUCCESS,
    promise="a call that fails or does half is not taken for success, and costs no finished work",
    explanation="""\
Disks fail, network file systems come and go, a process runs out of descriptors. In a fresh
workspace every operation of the undisturbed run fails once: writes, syncs, renames, removals and
the like with EIO, opens that create or truncate with EMFILE and with EROFS. Every write of more
than a byte is cut short as well, every close after a write fails, and for a sample of the
operations the error is another (ENOSPC, EDQUOT) or lasts from then on. If the run exits 0, having
tried again or done without, the check must say what it says undisturbed. If it exits otherwise it
must have said something, and the resume, without the fault, must exit 0 and the check say what it
says undisturbed. No stage whose done line was written, before the error or after it, may start
again in the resume; where there are stages the job is resumed for this after exit 0 too. The run
must end by its deadline. After a failed fsync or fdatasync the power is lost besides, at the end of
that run and after each done line that it wrote since: what the failed sync was to make durable may
be gone, whatever a later sync of the same data returned, and the resume is judged in the same way.
What shows just so where the sync had succeeded does not count, nor do stages that run again just so
where the power is lost right before it. Event lines never fail. Where the fault did not fire, or
the run differed from the recording before it, nothing is concluded: inconclusive.

It is broken by an fsync whose error is ignored, by one that is tried again and then believed, by a
short write whose count is not looked at, and by an error that is caught and the stage marked done.

Keep it: look at what os.write() returns, or use file objects, which do; let every error stop the
stage, with a sentence and an exit code other than 0; after a failed fsync write a new file; write
the done line last.""",
    kinds=(TrialKind.IO_ERROR, TrialKind.FAILED_SYNC),
    needs=frozenset(),
    look=_look,
    may_lack=frozenset({TrialKind.IO_ERROR, TrialKind.FAILED_SYNC}),
    without="the undisturbed run does nothing that can be made to fail",
)
