"""``no-space-is-survived``: the disk, or a quota on it, is full at some moment of the run.

The rules are those of :mod:`checkpoint_contracts.faulted`. A run that was refused nothing, since it
looked at the free space first or wrote less, is judged like the others; only where no run of all
was refused anything, and none stopped, nothing is concluded.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.faulted import Causes, seen_of_run
from checkpoint_contracts.ids import NO_SPACE_IS_SURVIVED
from checkpoint_contracts.tried import Seen, TrialContract, unusable
from checkpoint_contracts.wording import ending

REAL: Final = "-real"
"""The end of the variant of a trial on a real file system; without it, that of its twin."""

_CAUSES: Final = Causes(
    success=(
        "The error of a write, or of the close or flush that wrote, is caught or not looked at, "
        "and what was not written is taken as done. Let the error stop the stage; record it as "
        "done only when its output is saved, and exit with a code other than 0."
    ),
    silence=(
        "The job stops without a word, so nobody learns that the disk is full. Print what could "
        "not be written, and why, before it exits."
    ),
    trips=(
        "What the failed write left (a file truncated before it was to be filled, a half-written "
        "temporary file, a record cut short) is in the way of the resume. Write a temporary file, "
        "flush and fsync it, os.replace() it only when all of that went well, and remove or write "
        "over what an earlier attempt left."
    ),
    forgets=(
        "The error throws away progress that was acknowledged: the old state is truncated or "
        "removed before the new one is written. Leave the old state alone until the new one "
        "stands beside it, whole."
    ),
    hang=(
        "The job waits for room that does not come, or tries again without end. Give up after a "
        "number of attempts or a time, with a sentence."
    ),
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    return seen_of_run(NO_SPACE_IS_SURVIVED, _CAUSES, trial, reference)


def _gaps(evidence: Evidence) -> tuple[str, ...]:
    trials = [trial for trial in evidence.trials if trial.kind is TrialKind.NO_SPACE]
    usable = [trial for trial in trials if unusable(trial) is None]
    sentences = unlike(usable)
    if usable and not any(map(felt, usable)):
        sentences.append(
            "the fault did not fire: no run was refused anything, however little room it had"
        )
    return tuple(sentences)


def felt(trial: Trial) -> bool:
    """Whether the run was refused something, or stopped before it could be."""
    fired = trial.shown is not None and trial.shown.step is not None
    return fired or not trial.legs[0].execution.succeeded


def unlike(trials: list[Trial]) -> list[str]:
    """Where a full file system and the quota of the kit were not the same to the job."""
    by_id = {trial.point.id: trial for trial in trials}
    sentences = []
    for trial in trials:
        twin = by_id.get(trial.point.id.removesuffix(REAL))
        if twin is None or twin is trial or _end(twin) == _end(trial):
            continue
        sentences.append(
            f"{twin.point.operation}: by the quota of the kit {_told(twin)}; on a file system of "
            f"that size {_told(trial)}: what the quota shows is not to be trusted here"
        )
    return sentences


def _end(trial: Trial) -> tuple[str, bool | None]:
    """In which way the run ended, and whether the check was content."""
    run = trial.legs[0].execution
    how = "exit 0" if run.succeeded else "no exit 0"
    if run.signal is not None or run.timed_out:
        how = ending(run) if run.signal is not None else "hang"
    return how, None if trial.check is None else trial.check.succeeded


def _told(trial: Trial) -> str:
    check = "" if trial.check is None else f", and the check {ending(trial.check)}"
    return f"the run {ending(trial.legs[0].execution)}{check}"


def _notes(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.room,) if evidence.room else ()


no_space_is_survived: Final = TrialContract(
    id=NO_SPACE_IS_SURVIVED,
    promise="a full disk costs no finished work, and nothing is taken as done that is not",
    explanation="""\
The job runs in a fresh workspace that may hold only so much: every number of 4 KiB blocks from what
setup left up to the most that the undisturbed run needed, and of inodes likewise. The write that
meets the end of it gets what still fits, the next one ENOSPC; at some of these points EDQUOT, as
from a quota. If the run exits 0, the check must say what it says undisturbed. If it exits otherwise
it must have said something, and then, with room again, the resume must exit 0 and the check say
what it says undisturbed. No stage whose done line was written, before the error or after it, may
start again in the resume; where there are stages the job is resumed for this after exit 0 too. The
run must end by its deadline. At a few points the workspace is a real tmpfs of that size, and must
give the same ending and the same check: else the verdict is inconclusive. A job that needs no room
beyond what setup left is not judged.

It is broken by a state that is truncated before it is written anew, by a temporary file that is
left and fills the disk for the resume, by an error that is swallowed and the stage marked as done,
and by a job that waits for room without end.

Keep it: write a temporary file, flush and fsync it, os.replace() it only then; let an error stop
the stage, with a sentence and an exit code other than 0; remove the temporary file on the way out
or write over it the next time.""",
    kinds=(TrialKind.NO_SPACE,),
    needs=frozenset(),
    look=_look,
    may_lack=frozenset({TrialKind.NO_SPACE}),
    without="the undisturbed run needs no block and no inode beyond what setup left",
    gaps_of_all=_gaps,
    notes_of_all=_notes,
)
