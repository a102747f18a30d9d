"""``poison-fails-fast``: a stage that never gets done stops the job, loudly, within a budget.

Two kinds of poison. A stage that *raises* at every execution: the run, and then a resume, must each
exit with another code than 0, say something, and start no later stage. A stage that is *killed* at
every attempt, right after its start line: the run and the resumes after it are killed, until one of
them stops by itself in the same way, at the latest after as many kills as the limit allows.

A later stage is one whose first ``start`` comes after the ``done`` of this one in both undisturbed
runs: what runs beside it comes now before and now after it. Where the fault did not fire nothing is
concluded.
"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.failed_stage import STAGE_FAULTS
from checkpoint_contracts.ids import POISON_FAILS_FAST
from checkpoint_contracts.resume_contracts import STAGES
from checkpoint_contracts.stages import later_stages, stage_names
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import Seen, TrialContract, did_not_fire, finding, lines, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, ending, listed

_STOPS: Final = "an exit code other than 0, with a word of why"

_ENDLESS: Final = (
    "The stage is retried without a limit. Give every stage a number of attempts, count them where "
    "a crash cannot reset them, and when they are used up stop with a sentence and an exit code "
    "other than 0."
)
_IN_MEMORY: Final = (
    "Attempts are counted in memory, or only when a stage raises, so a crash starts the count "
    "again or is not counted at all. Count the attempt in the state, durably, before the stage "
    "starts, and refuse the next one when the budget is spent."
)
_HOPES: Final = (
    "The failure of a stage is caught and the job goes on without what it was to make, or says "
    "that all is well. Stop at the stage that failed: start nothing that comes after it, and exit "
    "with another code than 0."
)
_SILENT: Final = (
    "The job gives up without a word, so nobody learns which stage failed and why. Print the "
    "stage, the error and the number of attempts before it exits."
)
_WAITS: Final = (
    "The job waits for a stage that will never get done, or retries it for ever. Give every stage "
    "a number of attempts and every wait a deadline, then stop with a sentence."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    first = trial.legs[0]
    if not lines(first, "start", trial.stage):
        return did_not_fire(trial, f"no line 'start {trial.stage}' was seen; {told(first)}")
    if trial.kind is TrialKind.KILLED_ALWAYS:
        return _killed_always(trial, reference)
    return _raises_always(trial, reference)


# --- a stage that always raises ---


def _raises_always(trial: Trial, reference: Reference) -> Seen:
    for leg in trial.legs:
        if _unimpressed(trial, leg, reference):
            return did_not_fire(
                trial,
                f"with CHECKPOINT_STAGE_FAULT=raise:{trial.stage}:… the {leg.command} exits 0 as "
                "if nothing had happened",
            )
        if leg.killed:
            return (_endless(trial, leg),)
        found = _must_stop(trial, leg, reference)
        if found is not None:
            return (found,)
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the job was not resumed after it had failed"
    return ()


def _unimpressed(trial: Trial, leg: Leg, reference: Reference) -> bool:
    """Exit 0 with the right result, the stage started and done, and no failure told."""
    failed = lines(leg, "fail", trial.stage) > reference.events.count(f"fail {trial.stage}")
    started = lines(leg, "start", trial.stage)
    return (
        leg.execution.succeeded
        and not failed
        and 0 < started <= reference.events.count(f"start {trial.stage}")
        and bool(lines(leg, "done", trial.stage))
        and _has_result(trial, leg, reference)
    )


def _has_result(trial: Trial, leg: Leg, reference: Reference) -> bool:
    """Whether the check after this leg, the last, says what it says undisturbed."""
    check = trial.check
    return (
        leg is trial.legs[-1]
        and check is not None
        and check.succeeded
        and check.output == reference.check.output
    )


def _endless(trial: Trial, leg: Leg) -> Finding:
    times = lines(leg, "start", trial.stage)
    return _finding(
        trial,
        Symptom.ENDLESS_RETRY,
        f"the {leg.command} starts it {times} times and would go on: endless retry",
        (
            f"at most {counted(trial.limit, 'attempt')} (--checkpoint-attempts), then {_STOPS}",
            f"'start {trial.stage}' {times} times within one {leg.command}, which was ended then",
        ),
        _ENDLESS,
    )


# --- a stage that is always killed ---


def _killed_always(trial: Trial, reference: Reference) -> Seen:
    last = trial.legs[-1]
    if not trial.legs[0].killed:
        return did_not_fire(trial, f"it was not killed after 'start {trial.stage}'; {told(last)}")
    if last.execution.succeeded and _has_result(trial, last, reference):
        return did_not_fire(
            trial,
            f"attempt {len(trial.legs)} got the right result without a line 'start {trial.stage}' "
            "at which it could have been killed",
        )
    passed = _goes_on(trial, tuple(line for leg in trial.legs for line in leg.events), reference)
    if passed is not None:
        return (passed,)
    if last.killed:
        if len(trial.legs) <= trial.limit:
            return f"{trial.point.operation}: the trial was cut short"
        return (_no_budget(trial),)
    found = _must_stop(trial, last, reference)
    return () if found is None else (found,)


def _no_budget(trial: Trial) -> Finding:
    kills = len(trial.legs)
    return _finding(
        trial,
        Symptom.NO_BUDGET,
        f"it was killed there {kills} times and is started again each time: crashes do not count",
        (
            f"after at most {counted(trial.limit, 'kill')} (--checkpoint-attempts) {_STOPS}",
            f"'start {trial.stage}' by the run and by each of {counted(kills - 1, 'resume')}",
        ),
        _IN_MEMORY,
    )


# --- how a leg must end ---


def _must_stop(trial: Trial, leg: Leg, reference: Reference) -> Finding | None:
    """None if the leg stopped by itself, loudly, before anything later."""
    if leg.execution.timed_out:
        what = f"the {leg.command} {ending(leg.execution)}"
        return _finding(trial, Symptom.HANG, what, (_STOPS, told(leg)), _WAITS)
    passed = _goes_on(trial, leg.events, reference)
    if passed is not None:
        return passed
    if leg.execution.succeeded:
        what = f"the {leg.command} exits 0: it keeps going and hopes"
        seen = f"exit 0, although {trial.stage} never got done; {told(leg)}"
        return _finding(trial, Symptom.KEEPS_GOING, what, (_STOPS, seen), _HOPES)
    if not leg.execution.output.strip():
        what = f"the {leg.command} {ending(leg.execution)} without a word"
        return _finding(trial, Symptom.SILENT_STOP, what, (_STOPS, told(leg)), _SILENT)
    return None


def _goes_on(trial: Trial, events: tuple[str, ...], reference: Reference) -> Finding | None:
    """Later stages that were started, or the stage itself said to be done."""
    after = _later(reference, trial.stage)
    written = frozenset(events)
    started = tuple(name for name in after if f"start {name}" in written)
    if started:
        return _finding(
            trial,
            Symptom.KEEPS_GOING,
            f"{listed(started)} ran all the same: it keeps going and hopes",
            (
                f"no stage after {trial.stage}, which never got done",
                "appended: " + listed(tuple(f"start {name}" for name in started)),
            ),
            _HOPES,
        )
    if f"done {trial.stage}" in written:
        what = "it is said to be done: it keeps going and hopes"
        texts = (f"no line 'done {trial.stage}'", f"appended: done {trial.stage}")
        return _finding(trial, Symptom.KEEPS_GOING, what, texts, _HOPES)
    return None


def _later(reference: Reference, stage: str) -> tuple[str, ...]:
    """The stages that wait for this one, as far as two undisturbed runs tell."""
    after = later_stages(reference.events, stage)
    if reference.other_run is None:
        return after
    events = reference.other_run.events
    also = later_stages(events, stage) if stage in stage_names(events) else ()
    return tuple(name for name in after if name in also)


def _finding(
    trial: Trial, symptom: Symptom, what: str, texts: tuple[str, str], cause: str
) -> Finding:
    expected, seen = texts
    return finding(
        POISON_FAILS_FAST, trial, symptom, what, expected=expected, seen=seen, cause=cause
    )


poison_fails_fast: Final = TrialContract(
    id=POISON_FAILS_FAST,
    promise=(
        "a stage that always fails stops the job after its budget, loudly; later stages never run, "
        "and crashes count"
    ),
    explanation="""\
Some stage will one day fail at every attempt. Each stage in turn is made to raise always
(CHECKPOINT_STAGE_FAULT=raise:NAME:1000000): the run must end by itself with an exit code other than
0 and a word of why, without starting a later stage and without saying that the stage is done; and
so must a resume after it. Then a stage is killed at every attempt, right after its start line, in
the run and in resume after resume: within --checkpoint-attempts attempts (25) one of them must
refuse to go on, in the same way. A stage is later if its first start comes after the other's done
line in both undisturbed runs. Up to twelve stages raise and three are killed; all with
--checkpoint-exhaustive. Where the fault did not fire nothing is concluded: inconclusive.

It is broken by a retry without end, by a job that catches the failure, keeps going and hopes, by
one that gives up without a word or with exit 0, and by a budget that is counted in memory, so that
a stage which takes its process down with it is tried for ever.

Keep it: count the attempt in the state, durably, before the start line; when the budget is spent,
print the stage and why, start nothing after it, and exit with a code other than 0.""",
    kinds=(TrialKind.RAISES_ALWAYS, TrialKind.KILLED_ALWAYS),
    needs=frozenset({STAGES, STAGE_FAULTS}),
    look=_look,
)
