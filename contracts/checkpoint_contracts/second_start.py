"""What a second start shows, beside a first one: the rules of ``one-writer``.

Of a second start beside a first one that stands still, in this order:

1.  the second passes its deadline → failed: it waits
2.  it writes stage lines although the first has written some → failed: two writers
3.  it exits 0 → the check, on what lay there then, must say what it says undisturbed; the first,
    which cannot have had the workspace, may be refused in its turn, with a word, but does not do
    the work once more (that is: not many more operations than the start of a finished job makes)
4.  it ends otherwise → it must have said something, and written no stage line
5.  the first, when it goes on, exits 0 but in the case of 3, and the check then says what it says
    undisturbed; it does not pass its deadline

Of both at the same instant: each ends in time, at least one exits 0, the other has at least said
something; the check says what it says undisturbed; both did not do all the work.

In all: no stage is started more often than undisturbed. Where run and resume are different
commands the second may do everything once more when the first has ended: one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.evidence import Execution, Reference, Trial
from checkpoint_contracts.ids import ONE_WRITER
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, ending, last_line, listed

_VERBS: Final = ("start", "done", "fail", "input")
_FEW: Final = 2
"""So many operations more than the start of a finished job makes are not the work done again …"""
_SHARE: Final = 10
"""… nor is this part of the undisturbed run."""

_TAKE_ONE: Final = (
    "Take one lock that the kernel gives to one process alone and frees when it dies (flock or "
    "fcntl.lockf on a file that is never removed), before anything of the state is read, and hold "
    "it to the end"
)
_CAUSES: Final = {
    "waits": (
        "The lock is waited for. Ask for it without waiting (LOCK_NB), and if it is held say by "
        "whom and exit with an error."
    ),
    "two": (
        "Nothing keeps a second start out, or looking for the lock and taking it are two steps, or "
        f"what is found in the lock file before it is filled counts as nobody's. {_TAKE_ONE}."
    ),
    "success": (
        "The second start finds somebody at work, or work that is not its own, and calls that "
        "success. Exit with an error: whoever started it believes that the job is done."
    ),
    "silence": (
        "The second start is refused without a word. Say who holds the workspace, and since when."
    ),
    "disturbed": (
        "The second start took, removed or changed something of the first one's before it was "
        "refused. Ask for the lock first, and touch nothing without it."
    ),
    "neither": (
        "Each finds the other's lock and gives up. Let the kernel decide who has it: flock, or "
        "one exclusive create by which exactly one succeeds."
    ),
    "dead": (
        "The lock of a process that was killed still counts: a file that only its owner removes, "
        "or one that was created and not filled yet. Use a lock that dies with its owner (flock), "
        "or write into the lock file in one step who owns it, and take it over when that process "
        "is gone."
    ),
    "reused": (
        "That some process has the number of the dead owner is taken to mean that it lives. Keep "
        "its start time (field 22 of /proc/PID/stat) and the boot id beside the number, and "
        "compare them; or use flock."
    ),
}


# --- beside a first one that stands ---


def beside(trial: Trial, pair: Pair, reference: Reference) -> Iterator[Finding]:
    first, second = trial.legs[0], pair.second
    if second.timed_out:
        yield found(
            trial,
            Symptom.HANG,
            f"the second start {ending(second)}",
            ("the second start is refused at once, and says who holds the workspace", _said(pair)),
            "waits",
        )
        return
    wrote = _stage_lines(pair.meanwhile)
    if wrote and _stage_lines(pair.before) and not _had_done_all(trial, pair, reference):
        yield _two_writers(trial, pair, f"the second start works too, and writes {_shown(wrote)}")
        return
    if second.succeeded:
        yield from _after_success(trial, pair, reference)
        return
    if wrote:
        yield _two_writers(trial, pair, f"the second start writes {_shown(wrote)}, then fails")
        return
    if not second.output.strip():
        yield found(
            trial,
            Symptom.SILENT_STOP,
            f"the second start {ending(second)} without a word",
            ("a word of who holds the workspace, on standard output or error", _said(pair)),
            "silence",
        )
    if not first.execution.succeeded:
        yield _first_failed(trial, first, "although the second start was refused", "disturbed")
        return
    yield from _result(trial, pair, reference)


def _after_success(trial: Trial, pair: Pair, reference: Reference) -> Iterator[Finding]:
    """The second has exited 0 while the first stood."""
    first = trial.legs[0]
    wrong = wrong_check(pair.then, reference.check) if pair.then is not None else None
    if wrong is not None:
        _, words, expected, seen = wrong
        yield found(
            trial,
            Symptom.ERROR_AS_SUCCESS,
            f"the second start exits 0 although the job is not done: {words}",
            (
                f"it is refused at once, with an exit code other than 0; or {expected}",
                f"{_said(pair)}; then, with the first one standing, {seen}",
            ),
            "success",
        )
        return
    if first.execution.timed_out or (not first.execution.succeeded and not _says(first)):
        yield _first_failed(trial, first, "after the second start has done the job", "disturbed")
        return
    if first.execution.succeeded:
        much = _did_it_again(pair, reference)
        if much:
            yield _two_writers(trial, pair, much)
            return
    yield from _result(trial, pair, reference)


def _did_it_again(pair: Pair, reference: Reference) -> str:
    """In words, if the first has gone on working when the job was done."""
    if not pair.same_command:
        return ""
    most = reference.finished_resume.operations + max(_FEW, reference.run.operations // _SHARE)
    if pair.operations_later <= most:
        return ""
    return (
        f"the second start does the whole job, and then the first does "
        f"{counted(pair.operations_later, 'operation')} more (the start of a finished job does "
        f"{reference.finished_resume.operations})"
    )


# --- both at the same instant ---


def at_one_instant(trial: Trial, pair: Pair, reference: Reference) -> Iterator[Finding]:
    executions = (trial.legs[0].execution, pair.second)
    late = [one for one in executions if one.timed_out]
    if late:
        yield found(
            trial,
            Symptom.HANG,
            f"one of the two {ending(late[0])}",
            ("one works, the other is refused at once", _both_said(executions)),
            "waits",
        )
        return
    if not any(one.succeeded for one in executions):
        yield found(
            trial,
            Symptom.RESUME_FAILED,
            "neither of the two works",
            ("exactly one works, the other says who holds the workspace", _both_said(executions)),
            "neither",
        )
        return
    silent = [one for one in executions if not one.succeeded and not one.output.strip()]
    if silent:
        yield found(
            trial,
            Symptom.SILENT_STOP,
            f"one of the two {ending(silent[0])} without a word",
            ("a word of who holds the workspace, on standard output or error", "nothing"),
            "silence",
        )
    all_of_it = reference.run.operations
    light = reference.finished_resume.operations * 2 <= all_of_it
    if (
        all(one.succeeded for one in executions)
        and pair.same_command
        and light
        and pair.operations_all >= 2 * all_of_it - max(_FEW, all_of_it // _SHARE)
    ):
        yield _two_writers(
            trial,
            pair,
            f"both exit 0 after {counted(pair.operations_all, 'operation')} together (undisturbed "
            f"there are {all_of_it})",
        )
        return
    yield from _result(trial, pair, reference)


# --- what the others have in common ---


def _result(trial: Trial, pair: Pair, reference: Reference) -> Iterator[Finding]:
    """What lies there in the end, and how often stages were started on the way."""
    twice = _started_twice(trial, pair, reference)
    if twice:
        yield _two_writers(trial, pair, f"{listed(twice)} started twice")
        return
    if trial.check is None:
        return
    wrong = wrong_check(trial.check, reference.check)
    if wrong is None:
        return
    symptom, words, expected, seen = wrong
    yield found(trial, symptom, f"in the end {words}", (expected, seen), "two")


def _had_done_all(trial: Trial, pair: Pair, reference: Reference) -> bool:
    """Whether the first had written its last stage line before it stood: it may have gone then."""
    undisturbed = reference.events[len(trial.events_before) :]
    return not Counter(_stage_lines(undisturbed)) - Counter(_stage_lines(pair.before))


def _started_twice(trial: Trial, pair: Pair, reference: Reference) -> tuple[str, ...]:
    stages = stage_names(reference.events)
    before = len(trial.events_before)
    lines = (*pair.before, *pair.meanwhile, *pair.later)
    undisturbed = reference.events[before:]
    if not pair.same_command and _stage_lines(lines) == 2 * _stage_lines(undisturbed):
        return ()  # one after the other
    if _had_done_all(trial, pair, reference):
        return ()
    seen, usual = Counter(lines), Counter(undisturbed)
    return tuple(name for name in stages if seen[f"start {name}"] > max(1, usual[f"start {name}"]))


def _two_writers(trial: Trial, pair: Pair, what: str) -> Finding:
    return found(
        trial,
        Symptom.TWO_WRITERS,
        what,
        (
            "one of the two works, the other is refused at once",
            f"the first: {told(trial.legs[0])}; {_said(pair)}",
        ),
        "two",
    )


def _first_failed(trial: Trial, first: Leg, when: str, cause: str) -> Finding:
    symptom = Symptom.HANG if first.execution.timed_out else Symptom.RESUME_FAILED
    what = f"the first run {ending(first.execution)} {when}"
    return found(trial, symptom, what, ("the first run goes on and exits 0", told(first)), cause)


def found(trial: Trial, symptom: Symptom, what: str, texts: tuple[str, str], cause: str) -> Finding:
    expected, seen = texts
    return finding(
        ONE_WRITER, trial, symptom, what, expected=expected, seen=seen, cause=_CAUSES[cause]
    )


def _says(leg: Leg) -> bool:
    return bool(leg.execution.output.strip())


def _said(pair: Pair) -> str:
    """``the second start exits 1 and says last: held by 123``."""
    return f"the second start {_told(pair.second)}"


def _both_said(executions: tuple[Execution, Execution]) -> str:
    return f"one {_told(executions[0])}; the other {_told(executions[1])}"


def _told(execution: Execution) -> str:
    text = ending(execution)
    if execution.output.strip():
        return f"{text} and says last: {last_line(execution.output)}"
    return f"{text} and says nothing"


def _stage_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.split(" ", 1)[0] in _VERBS)


def _shown(lines: tuple[str, ...]) -> str:
    return listed(tuple(f"'{line}'" for line in lines[:1])) + (
        f" and {counted(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
    )
