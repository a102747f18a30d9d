"""``slow-is-not-stale``: a worker that lives and is slow is never called dead.

Of a run that was slowed while its heartbeat was asked after, in this order:

1.  it is called stale, or finished, and goes on → failed, unless the kit itself did not get
    to run either
2.  the run did not exit 0, or its heartbeat said nothing that is known meanwhile → nothing is said

A run of which a call was held is ended right after that.

That it is called stalled while a call takes long is no false alarm: it does not advance.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.heartbeat import (
    DEAD,
    HEARTBEAT,
    Answer,
    Watch,
    Word,
    first,
    odd_answer,
    told_answers,
)
from checkpoint_contracts.ids import SLOW_IS_NOT_STALE
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, finding, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.watched import too_short

HELD_FACTOR: Final = 3
"""So many times stale_after_s a call is held."""

_BEATS_WITH_THE_WORK: Final = (
    "The beat comes from the work itself, between two of its steps, and waits when a step takes "
    "long; or its age is told by comparing wall clocks. Let a thread beat, or a child if calls "
    "hold the interpreter's lock, and judge by changes, on a monotonic clock of the watcher."
)
_ENDED: Final = (
    "That the job has finished is told from something else than its own last word. Let the job "
    "write that as its last beat."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    watch, shown, run = trial.watch, trial.shown, trial.legs[0]
    if watch is None or shown is None or shown.step is None:
        return did_not_fire(trial, told(run))
    answers = watch.during if trial.kind is TrialKind.HELD else watch.since_first_beat
    if trial.kind is TrialKind.HELD:
        wrong = first(answers, *DEAD)
    else:
        wrong = _wrong_of_whole_run(watch, answers, evidence)
    if wrong is not None:
        if watch.starved is not None:
            return f"{trial.point.operation}: {watch.starved}"
        return (_false_alarm(trial, watch, wrong, evidence),)
    if trial.kind is TrialKind.HELD and watch.over_s < watch.lasts_s:
        return did_not_fire(trial, f"the call was held for {watch.over_s:.1f} s only")
    if not (run.killed or run.execution.succeeded):
        return f"{trial.point.operation}: nothing can be said of it: {told(run)}"
    odd = odd_answer(answers)
    if odd is not None:
        return f"{trial.point.operation}: asked how the worker is, the command says: {odd}"
    if not answers:
        return (
            f"{trial.point.operation}: no beat was seen meanwhile; "
            f"said was: {told_answers(watch.answers)}"
        )
    return ()


def _wrong_of_whole_run(
    watch: Watch, answers: tuple[Answer, ...], evidence: Evidence
) -> Answer | None:
    """The first word of death after which the run went on.

    Between its last beat and its end a job may be called finished, and in time stale: that it went
    on shows in a later word of life, or in a stale one that it outlived by as long again. Before
    its first beat it may be called what it will; if it was never called alive at all, what was said
    in its second half counts.
    """
    lives = [one.said_s for one in answers if one.word in (Word.ALIVE, Word.STALLED)]
    last_s = max(lives, default=0.0)
    again_s = evidence.heartbeat.stale_after_s if evidence.heartbeat else watch.slack_s
    later = answers or tuple(one for one in watch.during if one.asked_s > watch.over_s / 2)
    for one in later:
        outlived = one.word == Word.STALE and one.said_s + again_s <= watch.over_s
        if one.word in DEAD and (outlived or one.said_s < last_s):
            return one
    return None


def _false_alarm(trial: Trial, watch: Watch, wrong: Answer, evidence: Evidence) -> Finding:
    heartbeat = evidence.heartbeat
    ended = wrong.word != Word.STALE
    return finding(
        SLOW_IS_NOT_STALE,
        trial,
        Symptom.FALSE_ALARM,
        f"after {wrong.said_s:.1f} s it is called {wrong.word}, and goes on",
        expected="'alive' (or 'stalled') at every time: the worker lives",
        seen=f"{heartbeat.what if heartbeat else 'asked, it'} says: {told_answers(watch.answers)}",
        cause=_ENDED if ended else _BEATS_WITH_THE_WORK,
    )


def _notes(evidence: Evidence) -> tuple[str, ...]:
    coverage = evidence.trial_coverage.get(TrialKind.CLOCK_SET)
    return () if coverage is None else coverage.left_out


slow_is_not_stale: Final = TrialContract(
    id=SLOW_IS_NOT_STALE,
    promise="a live but slow worker is never called dead",
    explanation="""\
A watcher that kills what lives does more harm than none: a checkpoint that takes long, a slow disk,
a loaded machine are no death. While the heartbeat is asked after, at operations of the run after
which a beat was seen the call is answered only after three times stale_after_s, everything else of
the job going on; each call of a whole run takes longer; a whole run has to share the machine with
twice as many busy loops as it has cores; and one has a wall clock that is an hour behind that of
whoever asks (where libfaketime is installed, and all programs of the job are seen to load it; else
a note says so). It must not be called stale at any time from its first beat on, nor finished, and
go on; stalled is no false alarm, nor is what is said between its last beat and its end. The held
call is an event line, or where there are none an operation on a file that is neither the
heartbeat's nor ephemeral: name files that a beat writes under ephemeral, so that it is not the beat
that is held. Where the kit itself did not get to run for a quarter of stale_after_s, or the run did
not exit 0, nothing is said: inconclusive. Up to four operations are held, first, middle and last
first.

It is broken by a beat that comes only between two stages, or from the thread that writes the
checkpoint, and by comparing the wall clocks of the job and of its watcher.

Keep it: let a thread or a child beat, whatever the work waits for; choose stale_after_s several
times as long as the time between two beats.""",
    kinds=(TrialKind.HELD, TrialKind.SLOW_CALLS, TrialKind.LOADED, TrialKind.CLOCK_SET),
    needs=frozenset({HEARTBEAT}),
    look=_look,
    may_lack=frozenset({TrialKind.HELD, TrialKind.CLOCK_SET}),
    gaps_of_all=too_short,
    notes_of_all=_notes,
)
