"""``no-space-in-staging``: the directory through which the data passes is full at some moment.

The rules are those of :mod:`checkpoint_contracts.faulted`, and in this order besides:

*  the run passes its deadline → failed; there was room again long before
*  one operation is refused again and again, more often than the undisturbed run makes it and a
   number of attempts more, with hardly a pause → failed: it tries without end instead of waiting;
   so does a stage that is started more often than that number
*  an object is stored that the undisturbed runs store with other bytes → failed

That a run was not refused anything, since it looked at the free space and waited, is no failure of
the fault where some other run was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.bucket import by_key
from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.faulted import Causes, seen_of_run
from checkpoint_contracts.ids import NO_SPACE_IN_STAGING
from checkpoint_contracts.no_space import REAL, felt, unlike
from checkpoint_contracts.staged import STAGING, Staged
from checkpoint_contracts.tried import Seen, TrialContract, finding, told, unusable
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, listed

PAUSE_S: Final = 0.03
"""Between two tries of one that waits there is at least so much, on average."""

_CAUSES: Final = Causes(
    success=(
        "A file that was cut short by the full staging is taken for whole, uploaded and marked as "
        "done. Upload only what was written to its end: write under a temporary name, rename it "
        "when the last write and the close went well, and let the error stop the work."
    ),
    silence=(
        "The job stops without a word, so nobody learns that the staging is full. Print what could "
        "not be written, and how much room there is, before it exits."
    ),
    trips=(
        "What the full staging left (a file cut short, a temporary file that fills it) is in the "
        "way of the resume, or is uploaded by it. Remove at the start what an earlier start of the "
        "same shard left unfinished, and never take a file in the staging for whole because it is "
        "there."
    ),
    forgets=(
        "What was acknowledged is done again: the error threw away a marker, or the done line was "
        "written before the upload. Mark an object when the store has it, and leave markers alone."
    ),
    hang=(
        "The job waits for room, and does not notice that there is room again; or it waits for "
        "what cannot happen, such as an upload of what is still to be written. Look at the free "
        "space again and again while waiting, and give up after a time, with a sentence."
    ),
)
_LOOPS: Final = (
    "The write is tried again at once, or its worker is started again at once, as often as it "
    "fails: a crash loop, which keeps the machine busy and helps nobody. Wait until there is room, "
    "with a pause between looks and a deadline; then exit with a sentence."
)
_PARTIAL: Final = (
    "A file that is not whole was uploaded: the upload takes whatever lies in the staging. Hand "
    "over a file for upload only when it was written to its end, under a name that no unfinished "
    "one has."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    seen = seen_of_run(NO_SPACE_IN_STAGING, _CAUSES, trial, reference)
    if isinstance(seen, str):
        return seen
    return (*_loops(trial), *_partial(trial, reference), *seen)


def _loops(trial: Trial) -> Iterator[Finding]:
    what = _tried_again(trial) or _started_again(trial)
    if what:
        yield finding(
            NO_SPACE_IN_STAGING,
            trial,
            Symptom.TRIES_WITHOUT_END,
            what,
            expected=f"it waits for room, with a pause between tries, or gives up before it has "
            f"tried {trial.limit} times more often than undisturbed",
            seen=told(trial.legs[0]),
            cause=_LOOPS,
        )


def _tried_again(trial: Trial) -> str:
    """One and the same operation, without a pause; empty: it was not."""
    staged = trial.staging
    if staged is None or staged.refused <= staged.usual + trial.limit:
        return ""
    if staged.refused_within_s > staged.refused * PAUSE_S:
        return ""
    within = f"within {staged.refused_within_s:.1f} s"
    return f"one operation ({staged.refused_at}) is refused {staged.refused} times {within}"


def _started_again(trial: Trial) -> str:
    """One and the same stage; empty: it was not."""
    starts = Counter(line for line in trial.legs[0].events if line.startswith("start "))
    for line, count in starts.most_common(1):
        if count > trial.limit > 0:
            return f"the run writes '{line}' {count} times"
    return ""


def _partial(trial: Trial, reference: Reference) -> Iterator[Finding]:
    """Objects after the run, where both undisturbed runs store the same under their keys."""
    usual = by_key(reference.objects)
    other = by_key(reference.other_run.objects) if reference.other_run is not None else {}
    wrong = [
        one
        for one in trial.legs[0].objects
        if one.key in usual
        and one.key in other
        and usual[one.key].digest == other[one.key].digest != one.digest
    ]
    if wrong:
        names = listed(tuple(one.key for one in wrong))
        first = wrong[0]
        yield finding(
            NO_SPACE_IN_STAGING,
            trial,
            Symptom.PARTIAL_UPLOAD,
            f"{names} stored with other bytes than undisturbed",
            expected=f"{first.key} is absent, or has {usual[first.key].size_bytes} bytes as in "
            "both undisturbed runs",
            seen=f"{first.key} has {first.size_bytes} bytes (sha256 {first.digest[:16]}…); "
            + told(trial.legs[0]),
            cause=_PARTIAL,
        )


def _gaps(evidence: Evidence) -> tuple[str, ...]:
    trials = [trial for trial in evidence.trials if trial.kind is TrialKind.STAGING_FULL]
    usable = [trial for trial in trials if unusable(trial) is None]
    sentences = unlike(usable)
    if usable and not any(map(felt, usable)):
        sentences.append(
            "the fault did not fire: no run was refused anything, however little room its staging "
            "had"
        )
    return tuple(sentences)


def _notes(evidence: Evidence) -> tuple[str, ...]:
    trials = [one for one in evidence.trials if one.kind is TrialKind.STAGING_FULL]
    waited = sum(_waited(one.staging) for one in trials)
    notes = []
    if waited:
        times = counted(waited, "run")
        notes.append(f"in {times} with a full staging there was room again while it went on")
    if any(one.point.variant.endswith(REAL) and not _is_real(one) for one in trials):
        notes.append(
            "no file system of its own could be mounted as the staging: it was full by the kit's "
            "count alone"
        )
    return tuple(notes)


def _waited(staged: Staged | None) -> bool:
    return staged is not None and staged.room_again_s is not None


def _is_real(trial: Trial) -> bool:
    return trial.shown is not None and trial.shown.real


no_space_in_staging: Final = TrialContract(
    id=NO_SPACE_IN_STAGING,
    promise="a full staging costs no finished work, lets no partial file be uploaded, and is "
    "waited for, not run against",
    explanation="""\
What a job makes faster than it can be taken away passes through a staging, a directory with little
room: a tmpfs, most often, that other jobs fill as well. In a fresh workspace the staging may hold
only so much: numbers of 4 KiB blocks between what setup left and the most that the undisturbed run
had in it, and of inodes, a sample of each; at one of them it is a real tmpfs of that size, which
must give the same ending. The write that meets the end of it gets what still fits, the next one
ENOSPC; statvfs tells the truth. After a time (longer than the undisturbed run takes) without a
change in the staging, or since the first refusal, there is room again, as when another tenant has
gone: a job that waits may go on and end well. If the run exits 0, the check must say what it says
undisturbed. If it exits otherwise it must have said something, and then, with room, the resume must
exit 0 and the check say what it says undisturbed; no stage whose done line was written may start
again. The run must end by its deadline. No operation may be refused more often than the undisturbed
run makes it and --checkpoint-attempts more, unless at least 0.03 s pass between two tries on
average, and no stage may be started more often than that: these are crash loops. Of a job with a
bucket no object may be stored with other bytes than both undisturbed runs store under its key.

It is broken by a file that was cut short and is uploaded all the same, by a worker that is started
again as often as it dies, by a wait that never looks again, and by leftovers that fill the staging
for the resume.

Keep it: reserve the room before the work is done; wait at a high mark, look at the free space again
and again, and give up after a time with a sentence; hand a file over for upload only when it is
whole; remove your own leftovers at the start.""",
    kinds=(TrialKind.STAGING_FULL,),
    needs=frozenset({STAGING}),
    look=_look,
    may_lack=frozenset({TrialKind.STAGING_FULL}),
    without="the undisturbed run needs no block and no inode in its staging beyond what setup left",
    gaps_of_all=_gaps,
    notes_of_all=_notes,
)
