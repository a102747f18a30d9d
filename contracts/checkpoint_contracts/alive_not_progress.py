"""``alive-is-not-progress``: a worker that beats and does not advance is called stalled.

Of a run whose work waits within a call while its heartbeat was asked after, in this order:

1.  it is called stale, or finished → failed, unless the kit itself did not get to run either
2.  it is called stalled by the bound → noticed
3.  it is not → failed, unless the kit itself did not get to run

What becomes of the run afterwards is not looked at: it has waited for long.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.heartbeat import (
    DEAD,
    HEARTBEAT,
    Watch,
    Word,
    first,
    told_answers,
)
from checkpoint_contracts.ids import ALIVE_IS_NOT_PROGRESS
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, finding, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.watched import too_short

_TIMER_AS_PROGRESS: Final = (
    "The beat of a timer is taken for progress: it goes on whatever the work does. Let the work "
    "itself advance a counter, let each beat carry it, and call a worker stalled whose beats come "
    "and whose counter stands still."
)
_STALLED_AS_STALE: Final = (
    "The beat waits with the work, so that a worker that lives and waits looks like a dead one, "
    "and is killed and started again for nothing. Let a thread or a child beat, and tell by a "
    "counter whether the work advances."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    watch, shown = trial.watch, trial.shown
    if watch is None or shown is None or shown.step is None:
        return did_not_fire(trial, told(trial.legs[0]))
    if not watch.during:
        return f"{trial.point.operation}: nobody was asked how the worker is"
    wrong = first(watch.during, *DEAD)
    noticed = first(watch.during, Word.STALLED)
    if wrong is None and noticed is not None and noticed.said_s <= watch.bound_s:
        return ()
    if watch.starved is not None:
        return f"{trial.point.operation}: {watch.starved}"
    if wrong is not None:
        words = f"after {wrong.said_s:.1f} s it is called {wrong.word}, and lives"
        return (_found(trial, watch, evidence, Symptom.FALSE_ALARM, words),)
    if noticed is None and watch.during[-1].said_s < watch.bound_s:
        return (
            f"{trial.point.operation}: nobody was asked until the time was over in which it has "
            f"to be noticed ({watch.bound_s:.1f} s)"
        )
    words = f"after {watch.during[-1].said_s:.1f} s it is still called {watch.during[-1].word}"
    if noticed is not None:
        words = f"it is called stalled after {noticed.said_s:.1f} s only"
    return (_found(trial, watch, evidence, Symptom.UNNOTICED, words),)


def _found(trial: Trial, watch: Watch, evidence: Evidence, symptom: Symptom, words: str) -> Finding:
    heartbeat = evidence.heartbeat
    promised = "" if heartbeat is None else f": {heartbeat.stalled_after_s:g} s, and "
    return finding(
        ALIVE_IS_NOT_PROGRESS,
        trial,
        symptom,
        words,
        expected=(
            f"'alive', and 'stalled' within {watch.bound_s:.1f} s"
            f"{promised}{watch.slack_s:.1f} s of slack"
        ),
        seen=f"{heartbeat.what if heartbeat else 'asked, it'} says: {told_answers(watch.during)}",
        cause=_TIMER_AS_PROGRESS if symptom is Symptom.UNNOTICED else _STALLED_AS_STALE,
    )


def _excused(evidence: Evidence) -> str | None:
    heartbeat = evidence.heartbeat
    if heartbeat is None:
        return None
    if heartbeat.is_file:
        return (
            "a heartbeat file says that the worker lives, not whether it advances: declare a "
            "command that tells stalled from alive"
        )
    if heartbeat.stalled_after_s is None:
        return "the heartbeat command does not say after which time it calls a worker stalled"
    return None


alive_is_not_progress: Final = TrialContract(
    id=ALIVE_IS_NOT_PROGRESS,
    promise="a worker that beats but does not advance is reported as stalled, apart from stale",
    explanation="""\
A heartbeat says that a process lives, not that it gets anywhere: a worker that waits for a lock
that nobody gives back beats for days. At operations of the run after which a beat was seen the call
is not answered until the heartbeat command has called the worker stalled, or the time is over in
which it has to: the stalled_after_s that the subject declares, and a slack (one second, or half of
stalled_after_s if that is more, the time between two questions, and twice that of an answer). It
must not be called stale meanwhile, for whoever kills what is stale would kill a worker that waits;
nor finished. Everything else of the job goes on, its beats too. Which calls are held, and when
nothing is said, is as for slow-is-not-stale. A heartbeat file cannot say that a worker is stalled:
then the contract is not applicable, and so it is where stalled_after_s is not given.

It is broken by a timer whose beat is taken for progress, and by a beat that waits with the work, so
that the worker is called stale.

Keep it: count what the work has brought to an end, by the work itself; let every beat carry that
number; call a worker stalled whose number has not changed for too long.""",
    kinds=(TrialKind.BLOCKED,),
    needs=frozenset({HEARTBEAT}),
    look=_look,
    excused=_excused,
    may_lack=frozenset({TrialKind.BLOCKED}),
    gaps_of_all=too_short,
)
