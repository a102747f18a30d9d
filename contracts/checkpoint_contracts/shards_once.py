"""``shards-cover-once``: so many shards, started however, do all the work, and each piece once.

That a piece of work was done once is what the check says: it prints each as often as it occurs, and
does not depend on how many shards there were. In this order:

1.  a shard that was not killed passes its deadline, or does not exit 0 → failed
2.  the check, when all have ended, must say what it says of the undisturbed run, which is no shard

Where one shard of several leaves what the whole job does, nothing is concluded: the job does not
look at ``RANK`` and ``WORLD_SIZE``, or has too little to do.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Execution, Reference, Trial, TrialKind
from checkpoint_contracts.ids import SHARDS_COVER_ONCE
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.tried import (
    Seen,
    TrialContract,
    did_not_fire,
    finding,
    told,
    wrong_check,
)
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, quoted

SHARDS: Final = "shards"
"""The capability: ``RANK`` and ``WORLD_SIZE`` say which part of the work is a start's own."""
_KINDS: Final = (
    TrialKind.SHARDS_TOGETHER,
    TrialKind.SHARDS_IN_TURN,
    TrialKind.SHARD_KILLED,
)
_CAUSES: Final = {
    TrialKind.SHARDS_TOGETHER: (
        "Two shards take the same work, leave some to nobody, or write under one name: a temporary "
        "file or an output that both use, a batch that is called by its number within the shard. "
        "Let what a piece of work is called, and whose it is, follow from its ids alone."
    ),
    TrialKind.SHARDS_IN_TURN: (
        "Whose work a piece is depends on what is left of the list when the shard begins: every "
        "n-th of the rest is another one when another shard has taken its part away. Take every "
        "n-th of the whole list, or the remainder of a hash of the id, and leave out of that what "
        "is done; and name outputs by ids, not by a batch's number."
    ),
    TrialKind.SHARD_KILLED: (
        "What is done is kept by the shard that did it, or by the number of a batch: with another "
        "number of shards that means other work. Keep it by ids, in one place, where every shard "
        "looks."
    ),
}
_OTHER_DIES: Final = (
    "A shard depends on another one: it waits for it, shares a file that the dead one left "
    "unfinished, or is ended with it. Let each take and finish its own part by itself."
)
_ENDS_BADLY: Final = (
    "A shard cannot work beside another one, or after it: both want the same lock, or one trips "
    "over a file of the other. Give what each writes a name of its own, and share nothing but what "
    "is done."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    if trial.kind is TrialKind.SHARDS_TOGETHER:
        return _together(trial, reference)
    if trial.kind is TrialKind.SHARDS_IN_TURN:
        return _in_turn(trial, trial.legs, "", reference)
    shown = trial.shown
    if shown is None or shown.step is None or trial.pair is None or not trial.legs[0].killed:
        return did_not_fire(trial, "no shard was killed while the other was there")
    other = trial.pair.second
    if not other.succeeded:
        what = f"the other shard, which nobody had killed, {ending(other)}"
        return (_failed(trial, what, other, _OTHER_DIES, reference),)
    return _in_turn(trial, trial.legs[1:], "after that ", reference)


def _together(trial: Trial, reference: Reference) -> Seen:
    if trial.pair is None:
        return did_not_fire(trial, "the second shard was not started")
    for number, one in enumerate((trial.legs[0].execution, trial.pair.second)):
        if not one.succeeded:
            what = f"shard {number} of 2 {ending(one)}"
            return (_failed(trial, what, one, _ENDS_BADLY, reference),)
    return _result(trial, "both shards exit 0", reference)


def _in_turn(trial: Trial, legs: tuple[Leg, ...], when: str, reference: Reference) -> Seen:
    """Shards that were started one after the other, up to the first that did not exit 0."""
    if not legs:
        return f"{trial.point.operation}: no shard was started"
    for number, leg in enumerate(legs):
        if not leg.execution.succeeded:
            what = f"{when}shard {number} of {trial.shards} {ending(leg.execution)}"
            return (_failed(trial, what, leg.execution, _ENDS_BADLY, reference),)
    alone = trial.unresumed_check
    if alone is not None and alone.succeeded and alone.output == reference.check.output:
        return (
            f"shard 0 of {trial.shards} alone leaves what the whole job does: the job does not "
            "look at RANK and WORLD_SIZE, or its work is too little to be divided"
        )
    return _result(trial, f"{when}all {trial.shards} shards exit 0", reference)


def _result(trial: Trial, how: str, reference: Reference) -> Seen:
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run when all shards had ended"
    wrong = wrong_check(trial.check, reference.check)
    if wrong is None:
        return ()
    symptom, words, expected, seen = wrong
    return (
        finding(
            SHARDS_COVER_ONCE,
            trial,
            symptom,
            f"{how} with {words}",
            expected=f"the result of the undisturbed run, which is no shard; {expected}",
            seen=seen,
            cause=_CAUSES[trial.kind],
        ),
    )


def _failed(trial: Trial, what: str, shard: Execution, cause: str, reference: Reference) -> Finding:
    return finding(
        SHARDS_COVER_ONCE,
        trial,
        Symptom.HANG if shard.timed_out else Symptom.SHARD_FAILED,
        what,
        expected="it exits 0 by itself, and when all have ended the check says: "
        + quoted(reference.check.output),
        seen=told(Leg(command=Command.RUN, execution=shard)).replace("the run", "the shard", 1),
        cause=cause,
    )


shards_cover_once: Final = TrialContract(
    id=SHARDS_COVER_ONCE,
    promise="shards, whatever their number, do all the work between them, and each piece once; one "
    "that dies leaves the others alone",
    explanation="""\
A job that is divided over several machines is started so many times, each with its number in RANK
and how many there are in WORLD_SIZE, as torchrun and many others set them. In a fresh workspace two
shards are started at the same instant, twice; three one after the other, as a scheduler with one
free place does; and of two that run together one is killed at an operation (SIGKILL, its whole
process group), and when the other has ended the work is taken up by three. Every shard that was not
killed must exit 0 by its deadline, and the check must then say what it says after the undisturbed
run, which has neither variable. So the check must not depend on how many shards there were, and
must print each piece of work as often as it was done: that is how a piece done twice is seen.
Shards must not wait for each other. Where shard 0 alone leaves what the whole job does, the verdict
is inconclusive: it does not look at its number.

It is broken by outputs named by a batch's number, by taking every n-th of what is left instead of
every n-th of all, by a list of what is done that only one shard looks at, by a temporary name that
two shards share, and by one lock for all of them.

Keep it: let the ids of a piece of work alone decide whose it is and what its output is called; keep
what is done by id, where every shard looks; share no other file.""",
    kinds=_KINDS,
    needs=frozenset({SHARDS}),
    look=_look,
)
