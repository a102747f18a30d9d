"""``one-writer``: two runs on one workspace: one works, the other is refused at once.

What a second start shows beside a first one is judged by the rules in ``second_start``.

Of a first that is killed: the resume ends in time and exits 0, whoever has the dead one's number
now. What its result is, is for other contracts to say.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import ONE_WRITER
from checkpoint_contracts.second_start import at_one_instant, beside, found
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, told
from checkpoint_contracts.verdict import Symptom
from checkpoint_contracts.wording import ending, quoted

EXCLUSIVE: Final = "exclusive"
"""The capability: only one run at a time works on a workspace."""
_KINDS: Final = (
    TrialKind.SECOND_START,
    TrialKind.SAME_INSTANT,
    TrialKind.DEAD_HOLDER,
    TrialKind.NUMBER_REUSED,
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    shown, pair = trial.shown, trial.pair
    if shown is None or shown.step is None:
        return did_not_fire(trial, told(trial.legs[0]))
    if trial.kind in (TrialKind.DEAD_HOLDER, TrialKind.NUMBER_REUSED):
        return _after_a_death(trial, reference)
    if pair is None:
        return did_not_fire(trial, "nobody was started beside it")
    if pair.together:
        return tuple(at_one_instant(trial, pair, reference))
    return tuple(beside(trial, pair, reference))


def _after_a_death(trial: Trial, reference: Reference) -> Seen:
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the job was not resumed after it was killed"
    resume = trial.legs[-1]
    if resume.execution.succeeded:
        return ()
    reused = trial.kind is TrialKind.NUMBER_REUSED
    if reused and trial.unspoilt and not trial.unspoilt[-1].execution.succeeded:
        return ()  # it fails without that too: the trial without it tells more
    symptom = Symptom.HANG if resume.execution.timed_out else Symptom.RESUME_FAILED
    expected = f"the resume exits 0 and the check says: {quoted(reference.check.output)}"
    what = f"the resume {ending(resume.execution)}"
    cause = "reused" if reused else "dead"
    return (found(trial, symptom, what, (expected, told(resume)), cause),)


one_writer: Final = TrialContract(
    id=ONE_WRITER,
    promise="two runs on one workspace: one works, the other is refused at once; a dead owner's "
    "lock is taken over, a live one's never",
    explanation="""\
A scheduler that believes a job dead starts it again, a person starts it in two terminals, a timer
fires while the last run still goes on. In a fresh workspace the job is brought to a stand at an
operation of the undisturbed run, right before it or right after it, and is started a second time
(by the run command, and by the resume command where that is another). The second must be refused at
once: an exit code other than 0, a word, no stage line. Where the first had not taken the workspace
yet, the second may do the whole job; then the first may be refused in its turn. Then the first goes
on, and in the end the check must say what it says undisturbed, and no stage may have started twice.
The same is asked of a start that had looked before the other took the workspace: it stands before
its first operation, goes on when the other is at work, and is the second then. Both are started at
the same instant, five times. And the run is killed at an operation and resumed: the dead owner's
lock must not keep it from working, also where another process has got the dead one's number
meanwhile (tried where this machine lets the kit choose numbers; a note says so if not).

It is broken by having no lock, by looking whether a lock file is there and then creating it, by
waiting for the lock, by exiting 0 when somebody else is at work, by a pid file that is believed
though its owner is dead, and by a lock file that a kill leaves empty.

Keep it: flock, without waiting, on a file in the workspace that is never removed, before anything
is read; who holds it is written into it for people only.""",
    kinds=_KINDS,
    needs=frozenset({EXCLUSIVE}),
    look=_look,
    may_lack=frozenset(_KINDS),
    without="the undisturbed run does nothing beside which it could be started again",
)
