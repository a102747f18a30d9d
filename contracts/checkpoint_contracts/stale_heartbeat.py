"""``stale-heartbeat-is-noticed``: a worker that is frozen or dead is called so within its bound.

Of a run that was stopped, or killed, while its heartbeat was asked after, in this order:

1.  it is called stale by the bound → noticed
2.  it is not, and the kit itself did not get to run → nothing is said
3.  it is not → failed
4.  a run that was stopped goes on again: it must end with the result of the undisturbed run, or
    stop with a word, and its resume must
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.faulted import Causes, seen_of_run
from checkpoint_contracts.heartbeat import HEARTBEAT, Watch, Word, first, told_answers
from checkpoint_contracts.ids import STALE_HEARTBEAT_IS_NOTICED
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, finding, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.watched import too_short

_GOES_ON_BEATING: Final = (
    "Something beats that is not the worker: a process of its own that does not look whether the "
    "worker still runs, or lives on without it. Let it read the worker's state and start time in "
    "/proc before each beat, and not beat for one that is stopped, a zombie, or gone."
)
_NOBODY_READS: Final = (
    "Nobody reads the heartbeat, or what is read is no sign of life: that a file is there, that "
    "some process has the number. Judge by whether the beat itself changes, on the watcher's own "
    "monotonic clock; know the worker by its process number and its start time."
)
_NUMBER_BELIEVED: Final = (
    "That some process has the worker's number is taken for a sign of life, and by then it is "
    "another's. Store the start time of the process beside its number (field 22 of /proc/PID/stat) "
    "and the boot id, and compare them."
)
_GOES_ON: Final = Causes(
    success=(
        "The job takes the time that it was stopped for something else, and leaves a part out. "
        "Look at what was done, not at how long it took."
    ),
    silence="The job ends without a word when it goes on after a stop. Say what was wrong.",
    trips="What the job does when it goes on after a stop is in the way of its resume.",
    forgets="When it goes on after a stop the job throws away what was saved before.",
    hang="The job does not end once it was stopped and goes on again.",
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    watch, shown = trial.watch, trial.shown
    if watch is None or shown is None or shown.step is None:
        return did_not_fire(trial, told(trial.legs[0]))
    if not watch.answers:
        return f"{trial.point.operation}: nobody was asked how the worker is"
    noticed = first(watch.answers, Word.STALE)
    if noticed is None or noticed.said_s > watch.bound_s:
        if watch.starved is not None:
            return f"{trial.point.operation}: {watch.starved}"
        if noticed is None and watch.answers[-1].said_s < watch.bound_s:
            return (
                f"{trial.point.operation}: nobody was asked until the time was over in which it "
                f"has to be noticed ({watch.bound_s:.1f} s)"
            )
        return (_unnoticed(trial, watch, evidence),)
    if trial.kind is not TrialKind.STOPPED:
        return ()
    return seen_of_run(STALE_HEARTBEAT_IS_NOTICED, _GOES_ON, trial, reference)


def _unnoticed(trial: Trial, watch: Watch, evidence: Evidence) -> Finding:
    heartbeat = evidence.heartbeat
    changes = heartbeat is not None and heartbeat.is_file
    cause = _GOES_ON_BEATING if changes else f"{_GOES_ON_BEATING} Or: {_NOBODY_READS}"
    if trial.kind is TrialKind.REUSED:
        cause = _NUMBER_BELIEVED
    last = watch.answers[-1].word or "nothing"
    late = first(watch.answers, Word.STALE)
    words = f"after {watch.answers[-1].said_s:.1f} s "
    if late is not None:
        words = f"it is called stale after {late.said_s:.1f} s only"
    elif changes:
        words += "the heartbeat still changes"
    else:
        words += f"it is still called {last}"
    return finding(
        STALE_HEARTBEAT_IS_NOTICED,
        trial,
        Symptom.UNNOTICED,
        words,
        expected=f"'stale' within {watch.bound_s:.1f} s: {_promised(evidence, watch)}",
        seen=f"{heartbeat.what if heartbeat else 'asked, it'} says: {told_answers(watch.answers)}",
        cause=cause,
    )


def _promised(evidence: Evidence, watch: Watch) -> str:
    if evidence.heartbeat is None:
        return f"{watch.slack_s:.1f} s of it are slack"
    return f"{evidence.heartbeat.stale_after_s:g} s, and {watch.slack_s:.1f} s of slack"


def _notes(evidence: Evidence) -> tuple[str, ...]:
    coverage = evidence.trial_coverage.get(TrialKind.REUSED)
    return () if coverage is None else coverage.left_out


stale_heartbeat_is_noticed: Final = TrialContract(
    id=STALE_HEARTBEAT_IS_NOTICED,
    promise="a frozen or dead worker is reported within its bound",
    explanation="""\
A worker that hangs in the kernel, is stopped, or was killed long ago is shown as running for days
if nobody notices. At operations of the run after which a beat was seen, the process group of the
job is stopped (SIGSTOP), and asked after until it is called stale; then it goes on (SIGCONT), and
must end with the result of the undisturbed run, or stop with a word and leave that to its resume.
At others all of its processes are killed (SIGKILL), and it is asked after in the same way; at one,
of a command, after other processes have got their numbers, where this machine allows that. The
bound is the stale_after_s that the subject declares and a slack: one second, or half of
stale_after_s if that is more, the time between two questions, and twice the longest answer of an
undisturbed run. Of a heartbeat file the kit looks itself whether its bytes or its time of change
are others than at its last look; a command is asked again and again, and prints one word: alive,
stale, stalled or finished (waiting, before the first beat). Where the kit itself did not get to run
for half of the slack nothing is said: inconclusive. Up to four operations are taken for each,
first, middle and last first; all with --checkpoint-exhaustive.

It is broken by a heartbeat that nobody reads, by a beat process that outlives its worker or does
not care that it is stopped, by a pid file that is believed because some process has that number,
and by a thread of another process that beats in its name.

Keep it: let the beat come from the worker, or from a child that reads the worker's state and start
time in /proc before each beat; judge it by its changes, on a monotonic clock of the watcher.""",
    kinds=(TrialKind.STOPPED, TrialKind.DEAD, TrialKind.REUSED),
    needs=frozenset({HEARTBEAT}),
    look=_look,
    may_lack=frozenset({TrialKind.STOPPED, TrialKind.DEAD, TrialKind.REUSED}),
    gaps_of_all=too_short,
    notes_of_all=_notes,
)
