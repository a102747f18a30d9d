"""The likely cause of a failure and how to mend it, guessed from the operation and the symptom.

A guess is a line of :data:`_GUESSES`, the first that fits is told. The guess is for people only:
it takes no part in a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Fault
from checkpoint_contracts.verdict import Symptom

_ENDED_BADLY: Final = frozenset({Symptom.RESUME_FAILED, Symptom.CHECK_FAILED})
_HANGS: Final = frozenset({Symptom.HANG, Symptom.CHECK_HANG})
_WRONG_RESULT: Final = frozenset({Symptom.CHECK_FAILED, Symptom.DIFFERENT_RESULT})
_ALL: Final = frozenset(Symptom)
_BOTH: Final = frozenset({Fault.KILL, Fault.TORN})
_KILL: Final = frozenset({Fault.KILL})
_TORN: Final = frozenset({Fault.TORN})

_WHOLE_OR_NOT: Final = (
    "write a temporary file in the same directory, flush and fsync it, then os.replace() it onto "
    "the final name"
)


@dataclass(frozen=True, slots=True)
class _Guess:
    symptoms: frozenset[Symptom]
    faults: frozenset[Fault]
    operation: re.Pattern[str]
    text: str


def _guess(
    symptoms: frozenset[Symptom], faults: frozenset[Fault], operation: str, text: str
) -> _Guess:
    return _Guess(symptoms, faults, re.compile(operation, re.IGNORECASE), text)


_LOCK: Final = r"(?<![a-z])lock|\.lck\b|\.pid\b|\brunning\b|\bowner\b|\blease"

_GUESSES: Final = (
    _guess(
        frozenset({Symptom.DONE_AGAIN}),
        _BOTH,
        "",
        "Progress is not on disk when the done line is written (it is kept in memory, or saved "
        "only at the end of the run), or the resume does not read it. Save the progress after "
        "each stage and before its done line, and read it at the start.",
    ),
    _guess(
        frozenset({Symptom.SKIPPED}),
        _BOTH,
        "",
        "The resume takes more for finished than was done: progress is saved ahead of the work, or"
        " counted one too far. Save it after the work, and go on with the first stage that is not "
        "recorded as done.",
    ),
    _guess(
        _HANGS,
        _BOTH,
        _LOCK,
        "The resume waits for a lock of the process that was killed. Take a dead holder's lock "
        "over: use fcntl.flock(), which the kernel frees, or store the holder's pid and start "
        "time and look whether it lives.",
    ),
    _guess(
        _HANGS,
        _BOTH,
        "",
        "The resume waits for something that only the killed process could have finished (a mark "
        "'in progress', a lock, a half-filled queue). Treat such a mark of a dead process as not "
        "begun, take its lock over, and give every wait a deadline.",
    ),
    _guess(
        _ENDED_BADLY,
        _KILL,
        _LOCK,
        "The lock of the process that was killed is taken for a live one. Take a dead holder's "
        "lock over: use fcntl.flock(), which the kernel frees, or look whether the holder still "
        "lives.",
    ),
    _guess(
        _ALL,
        _TORN,
        r"append|\.jsonl\b|\.log\b|\.csv\b|journal|wal\b",
        "A record that was cut short is read as a whole one, or makes the rest unreadable. Give "
        "each record a length or a checksum (or at least its newline), and on resume cut the file"
        " back to its last whole record before appending.",
    ),
    _guess(
        _ALL,
        _TORN,
        "",
        "The file is written in place, under the name that the resume reads, so a crash leaves it "
        f"half written. Instead {_WHOLE_OR_NOT}.",
    ),
    _guess(
        _WRONG_RESULT,
        _KILL,
        r"^(event|append|say)?\W*(done|start|fail|input)\b",
        "The step was recorded as done before what it made was on disk, or what it made lived "
        "only in memory. Save the output first, then the status, then say done; a resume must "
        "load what the done steps returned.",
    ),
    _guess(
        frozenset({Symptom.RESUME_FAILED}) | _WRONG_RESULT,
        _KILL,
        r"^(unlink|rmdir|remove|delete)",
        "The old version is removed before the new one is in place, so that for a moment there is "
        f"none. Put the new one there first ({_WHOLE_OR_NOT}), then remove the old.",
    ),
    _guess(
        _ENDED_BADLY | _WRONG_RESULT,
        _KILL,
        r"^mkdir",
        "That the folder exists is taken to mean that it is full, or making it again is an error."
        " Fill a folder under a temporary name and rename it when it is whole; make it with "
        "exist_ok=True.",
    ),
    _guess(
        _WRONG_RESULT,
        _KILL,
        r"^(rename|link)",
        "What was renamed here tells the resume that more is finished than is on disk: a status "
        "saved before its output, or an output kept only in memory. Save the output first, then "
        "the status, and let the resume load what the done steps returned.",
    ),
    _guess(
        _WRONG_RESULT,
        _KILL,
        r"^write .*(\.jsonl\b|\.log\b|\.csv\b|journal|wal\b)",
        "What was recorded here tells the resume that more is finished than is on disk: a record "
        "written before the output it speaks of, or an output kept only in memory. Save the output"
        " first, then the record, and let the resume load what the done steps returned.",
    ),
    _guess(
        _ENDED_BADLY | _WRONG_RESULT,
        _KILL,
        r"^(create|open|creat|truncate|ftruncate|write|pwrite|writev|copy|sendfile|store)",
        "The file is written in place: between emptying or creating it and the last write it is "
        f"neither the old version nor the new one. Instead {_WHOLE_OR_NOT}; and save an output "
        "before the status that says it is done.",
    ),
    _guess(
        frozenset({Symptom.RESUME_FAILED}),
        _KILL,
        "",
        "The resume trips over what the killed run left behind. Let it expect leftovers (an "
        "existing file or folder, a temporary file, a missing one) and write state so that it is"
        f" whole or not there: {_WHOLE_OR_NOT}.",
    ),
    _guess(
        _ALL,
        _BOTH,
        "",
        "What the resume reads says more or less than what is finished. Save the output first, "
        f"then the status; for each of them {_WHOLE_OR_NOT}.",
    ),
)

RESTARTS: Final = (
    "No checkpoint is written, or the resume does not read it, or it takes an old one. Save the "
    "progress as the job goes, and at the start load the newest whole checkpoint and go on from "
    "there."
)
STARTS_OVER_WHEN_DONE: Final = (
    "The job does not look whether it has finished, or it saves nothing before its end. At the "
    "start read what is there and skip what is done; save the progress as the job goes."
)


WRITTEN_IN_PLACE: Final = (
    "It is opened under its final name and filled there. Instead " + _WHOLE_OR_NOT + "; fill a "
    "folder under a temporary name and rename it when it is whole."
)
CHANGES_WHEN_FINISHED: Final = (
    "Something is written at every start, whether there is work left or not (a counter, a time "
    "stamp, an append). Find out first whether the job is done, and if so return before anything "
    "is written; keep what changes at every start out of the outputs."
)
RUNS_WHEN_FINISHED: Final = (
    "That the job, or its last step, is finished is not recorded, or the start does not read it. "
    "Record each step as done when its output is saved, and skip it when it is."
)
EFFECT_TWICE: Final = (
    "That it was sent is recorded only afterwards, so whatever ends the job in between has it sent "
    "again; or its id is new at each attempt, so the receiver cannot know it again. Record the "
    "intent with its id durably before, send with the same id at every attempt, record the outcome "
    "after; on resume ask the receiver, or stop and say so, where only the intent stands."
)
EFFECT_LOST: Final = (
    "It is taken for sent when only the intent had been recorded (or its id is not the same at "
    "every attempt, so another one arrived). Record the outcome apart, after sending; on resume "
    "take an intent without an outcome for unknown: ask the receiver, or send the same id again."
)
EFFECT_HAS_NO_ID: Final = (
    "Nothing tells the receiver which effect it is. Derive an id from what is sent (job, step, "
    "subject), keep it the same at every attempt, and hand it on as idempotency key."
)
STRANGER_HARMED: Final = (
    "What is the job's own is told by a name or a prefix that others have too. Keep a record of "
    "the files that the job has made (or put them into a folder of its own in the workspace), and "
    "remove those alone."
)
STRANGER_SIGNALLED: Final = (
    "The process to signal is found by its name, by a command line or by a number alone, which "
    "others have too or get later. Record the process's number with its start time when it is "
    "started, and signal it only while both still fit; or keep a pidfd."
)
INPUT_LOST: Final = (
    "What an earlier stage returned did not come back from disk as it went: only its status was "
    "saved, or the value in a form that does not give it back (JSON turns a tuple into a list and "
    "keys into text, and knows no bytes; NaN, None, Unicode and bf16 are easily lost on the way). "
    "Save what a stage returned together with its status, in a form that gives back what was put "
    "in, and let the resume load it."
)
HALF_DONE: Final = (
    "The stage does not expect what its first, interrupted run has left: it appends to it, counts "
    "it again, takes a half-filled temporary file for a whole one, or stumbles over it. Let a "
    "stage begin by removing or replacing what it makes: " + _WHOLE_OR_NOT + ", and never read a "
    "temporary file that was found."
)
HANDOFF_AFTER_COMMIT: Final = (
    "The handoff is not written at each commit, or on the wrong side of it. After a stage's "
    "result is committed and before its done line, write the whole handoff anew from all that is "
    "committed: " + _WHOLE_OR_NOT + "."
)

HANDOFF_NOT_TOLD: Final = (
    "On what a crash left the command does not end, or prints something else than the JSON object. "
    "Let it wait for nothing that only a living job could free, and print that object alone, from "
    "all that is committed."
)

_SQLITE: Final = re.compile(r"-journal\b|-wal\b|sqlite|\.db\b", re.IGNORECASE)
_SENTENCES_SHOWN: Final = 3


def power_loss_cause(missing_syncs: tuple[str, ...], symptom: Symptom) -> str:
    """The syncs that would have been needed, and how to have them. Of many, the first three."""
    acknowledged = "exit" if symptom is Symptom.LOST_AFTER_EXIT else "done line"
    shown = [sentence.rstrip(".") for sentence in missing_syncs[:_SENTENCES_SHOWN]]
    rest = len(missing_syncs) - len(shown)
    if rest > 0:
        shown.append(f"and {rest} more that {'was' if rest == 1 else 'were'} not durable")
    mend = (
        "In sqlite use PRAGMA journal_mode=WAL with synchronous=FULL, or synchronous=EXTRA"
        if any(_SQLITE.search(sentence) for sentence in missing_syncs)
        else f"Before the {acknowledged} {_WHOLE_OR_NOT}, and fsync the directory that holds the "
        "name (and the parent of a directory that is new)"
    )
    return ". ".join((*shown, mend)) + "."


def likely_cause(point: CrashPoint, symptom: Symptom) -> str:
    """A sentence or two: what is probably wrong, and how to mend it."""
    if point.fault is Fault.POWER_LOSS:
        return power_loss_cause((), symptom)
    if point.fault is Fault.SECOND_CRASH:
        return ""  # its contract says more
    return next(
        guess.text
        for guess in _GUESSES
        if symptom in guess.symptoms
        and point.fault in guess.faults
        and guess.operation.search(point.operation)
    )


def likely_causes(shown: Set[tuple[Symptom, Fault]]) -> tuple[str, ...]:
    """Whatever may be told of these, each once, in the order in which it is tried.

    For people who want to read before they are told; which it is depends on the operation.
    """
    return tuple(
        dict.fromkeys(
            guess.text
            for guess in _GUESSES
            if any(symptom in guess.symptoms and fault in guess.faults for symptom, fault in shown)
        )
    )
