"""``markers-outlive-staging``: what lies in the staging, and in TMPDIR, may vanish at any time.

In this order, of each resume from a kill after which both were emptied:

1.  a marker lay in the staging → failed: it vanished with it
2.  the resume passes its deadline, or does not exit 0, or the check then says something else
3.  a stage whose done line was written is started again
4.  an object that was stored and marked is sent again
5.  a marker that stood elsewhere stands no more
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.bucket import sent_keys
from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import MARKERS_OUTLIVE_STAGING
from checkpoint_contracts.staged import STAGING, Staged
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.tried import Seen, TrialContract, finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, listed, quoted

_IN_IT: Final = (
    "Markers lie in the staging, which is emptied with the machine: what was uploaded is made and "
    "uploaded again. Keep them on another file system, which is not a tmpfs, or in the bucket."
)
_LEANS: Final = (
    "The job takes up its work by what lies in the staging: progress, a list, a file that is to be "
    "there. Let the markers alone say what is done, and make again whatever is not marked."
)
_AGAIN: Final = (
    "What is done is told by files of the staging, or a marker counts only beside its staged file. "
    "A marker that was written after the upload says it all: leave out what has one."
)
_REMOVES: Final = (
    "The start removes markers: it clears the folder, or takes a marker without its staged file "
    "for stale. Never remove a marker because something derived has gone."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    staged = trial.staging
    if staged is None:
        return f"{trial.point.operation}: what lay in the staging is not known"
    if staged.markers_in_it:
        return (_marker_in_staging(trial, staged),)
    ended = tuple(_ended(trial, reference))
    if ended:
        return ended
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run after the resume"
    return tuple(_repeated(trial, staged, reference))


def _marker_in_staging(trial: Trial, staged: Staged) -> Finding:
    return finding(
        MARKERS_OUTLIVE_STAGING,
        trial,
        Symptom.MARKER_IN_STAGING,
        f"the marker {staged.markers_in_it[0]} goes with the staging",
        expected="markers lie outside of the staging",
        seen=f"in the staging lay {listed(staged.markers_in_it)}",
        cause=_IN_IT,
    )


def _ended(trial: Trial, reference: Reference) -> Iterator[Finding]:
    leg = trial.legs[-1]
    expected = f"the resume exits 0 and the check says: {quoted(reference.check.output)}"
    if not leg.execution.succeeded:
        yield finding(
            MARKERS_OUTLIVE_STAGING,
            trial,
            Symptom.HANG if leg.execution.timed_out else Symptom.RESUME_FAILED,
            f"the resume {ending(leg.execution)}",
            expected=expected,
            seen=told(leg),
            cause=_LEANS,
        )
        return
    wrong = None if trial.check is None else wrong_check(trial.check, reference.check)
    if wrong is not None:
        symptom, words, expected, seen = wrong
        yield finding(
            MARKERS_OUTLIVE_STAGING,
            trial,
            symptom,
            f"the resume exits 0 with {words}",
            expected=expected,
            seen=seen,
            cause=_LEANS,
        )


def _repeated(trial: Trial, staged: Staged, reference: Reference) -> Iterator[Finding]:
    leg = trial.legs[-1]
    stages = stage_names(reference.events)
    again = done_again(stages, trial.events_before, leg.events)
    if again:
        yield finding(
            MARKERS_OUTLIVE_STAGING,
            trial,
            Symptom.DONE_AGAIN,
            f"the resume runs {listed(again)} again, which had been done",
            expected=f"no start line for {listed(again)}: the done line was written before",
            seen="the resume appended " + listed(tuple(f"start {name}" for name in again)),
            cause=_AGAIN,
        )
    sent = sent_keys(leg.requests)
    twice = tuple(key for key in staged.marked if key in sent)
    if twice:
        yield finding(
            MARKERS_OUTLIVE_STAGING,
            trial,
            Symptom.UPLOADED_AGAIN,
            f"the resume uploads {listed(twice)} again",
            expected=f"no upload of {listed(twice)}: stored and marked before the staging went",
            seen=f"the resume sends {listed(tuple(sorted(sent)))}",
            cause=_AGAIN,
        )
    if staged.markers_removed:
        yield finding(
            MARKERS_OUTLIVE_STAGING,
            trial,
            Symptom.MARKERS_REMOVED,
            f"after the resume there is no {listed(staged.markers_removed)}",
            expected="every marker that stood before the resume stands after it",
            seen=f"gone: {listed(staged.markers_removed)}",
            cause=_REMOVES,
        )


markers_outlive_staging: Final = TrialContract(
    id=MARKERS_OUTLIVE_STAGING,
    promise="the staging may vanish at any time: what was uploaded and marked is not made again, "
    "and no start removes a marker",
    explanation="""\
A staging in memory is empty after a reboot, and so is TMPDIR; what the bucket holds and what was
marked is there. From a sample of the states that a kill leaves the job is resumed with its staging
and its TMPDIR emptied (the directories themselves stay). The resume must exit 0 by its deadline and
the check say what it says undisturbed. No stage whose done line was written may start again. Of a
job that declares its markers, none may lie in the staging; every one that stood before the resume
must stand after it; and no object that was stored and whose marker stood may be sent again, which
the log of requests tells.

It is broken by markers in the staging, by a start that clears its folders or takes a marker without
its staged file for stale, and by progress kept in the staging and believed.

Keep it: markers on another file system than the staging, or in the bucket, written after the upload
and never removed by a start; what lies in the staging is only ever a copy.""",
    kinds=(TrialKind.STAGING_GONE,),
    needs=frozenset({STAGING}),
    look=_look,
)
