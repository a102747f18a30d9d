"""``preemption-is-clean``: told to end, the job ends in time, says so, and loses nothing.

Of a run that was sent SIGTERM or SIGINT, in this order:

1.  it exits 0 → the check must say what it says undisturbed, without a resume
2.  it ends otherwise within the grace → by exit code 75 or 128 + N, by that signal, or with a word
3.  it does not end within the grace, and is killed: it did not react, which is a note
4.  after 2 and 3 the resume must exit 0 and start no stage whose done line stands there, and the
    check must say what it says undisturbed; after 1 the same of stages

A run that is killed before the grace is over is judged by 4 alone.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.faulted import Causes, seen_of_resume, seen_of_run
from checkpoint_contracts.ids import PREEMPTION_IS_CLEAN
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, told
from checkpoint_contracts.wording import counted

PREEMPTION: Final = "preemption"
"""The capability: the job reacts to SIGTERM and SIGINT."""
TEMPORARY_FAILURE: Final = 75
"""EX_TEMPFAIL: preempted, start it again."""

_CAUSES: Final = Causes(
    success=(
        "The job exits 0 although it was stopped half way, so whoever started it takes it for "
        "finished. Exit with code 75, or die by the signal, when work is left."
    ),
    silence=(
        "The job stops without a word and with an exit code that means nothing special, so it "
        "looks like a failure. Say that it was preempted, and exit with 75 or 128 + the signal."
    ),
    trips=(
        "What the handler saves, or a `with` block publishes while the exception passes through, "
        "is half of something. Let the handler only note that the signal came, finish or drop the "
        "step in hand, and publish a file only where its block ended without an exception."
    ),
    forgets=(
        "What was acknowledged is not saved, or the handler writes an older state over it. Save "
        "the progress before the done line, and let the handler save nothing that is older."
    ),
    hang="The job ends neither by the signal nor by SIGKILL.",
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    run, shown = trial.legs[0], trial.shown
    if shown is None or shown.step is None:
        # A step of a process that outlived the first one: nobody was left to be told.
        return () if run.execution.succeeded else did_not_fire(trial, told(run))
    if trial.kind is TrialKind.GRACE_TOO_SHORT or shown.grace_over or _says(trial):
        return seen_of_resume(PREEMPTION_IS_CLEAN, _CAUSES, trial, reference)
    return seen_of_run(PREEMPTION_IS_CLEAN, _CAUSES, trial, reference)


def _says(trial: Trial) -> bool:
    """Whether the way it ended says that it was told to end."""
    assert trial.shown is not None
    execution, number = trial.legs[0].execution, trial.shown.number
    return execution.signal == number or execution.exit_code in (TEMPORARY_FAILURE, 128 + number)


def _gaps(evidence: Evidence) -> tuple[str, ...]:
    trials = [one for one in evidence.trials if one.kind is TrialKind.SIGNALLED]
    if not trials or any(one.shown is not None and one.shown.step is not None for one in trials):
        return ()
    return ("the fault did not fire: no signal could be sent, the job had always ended before",)


def _notes(evidence: Evidence) -> tuple[str, ...]:
    trials = [one for one in evidence.trials if one.kind is TrialKind.SIGNALLED]
    over = sum(one.shown is not None and one.shown.grace_over for one in trials)
    if not over:
        return ()
    note = (
        f"at {over} of {counted(len(trials), 'signal')} the job had not ended when the grace was "
        "over (--checkpoint-grace), and was killed: it does not react"
    )
    return (note,)


preemption_is_clean: Final = TrialContract(
    id=PREEMPTION_IS_CLEAN,
    promise="told to end, the job ends in time, says so, keeps its whole work, and goes on later",
    explanation="""\
A batch system or a container runtime sends SIGTERM, a person presses Ctrl-C, and after some time
whatever is left is killed. In a fresh workspace the run is sent SIGTERM (its first process), or
SIGINT (its process group), right after each operation of the undisturbed run, and killed when
--checkpoint-grace (10 s) is over. If it exits 0, the check must say what it says undisturbed,
without a resume. If it ends otherwise, that must say that it was preempted: exit code 75, or 128
plus the signal's number, or death by that signal, or a word. Then the resume must exit 0, start no
stage whose done line was written, and the check say what it says undisturbed. A run that does not
react is killed, which is told in a note and is no failure by itself. Too short a grace must be no
worse than a kill: for a sample of these runs the same is asked of every state that a kill after one
of their operations since the signal leaves, unless the undisturbed run passes through it too.

It is broken by a handler that saves half of what it was doing, by a `with` block that publishes its
file although an exception passes through, by a handler that exits 0 with work left, and by one that
removes what is needed to go on.

Keep it: let the handler only note that the signal came; finish the step in hand or drop it whole;
publish a file only at the end of a block that no exception left; exit with 75.""",
    kinds=(TrialKind.SIGNALLED, TrialKind.GRACE_TOO_SHORT),
    needs=frozenset({PREEMPTION}),
    look=_look,
    may_lack=frozenset({TrialKind.SIGNALLED, TrialKind.GRACE_TOO_SHORT}),
    without="the undisturbed run does nothing after which it could be told to end",
    gaps_of_all=_gaps,
    notes_of_all=_notes,
)
