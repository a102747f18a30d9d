"""``bad-state-is-refused``: a damaged state is noticed, and neither believed nor thrown away.

One experiment is accepted or not by the first rule that fits:

1.  the resume passes its deadline, or dies by a signal → failed
2.  it exits with another code than 0: it must have said something, and what was damaged must still
    stand in the workspace, where it was or kept aside → else failed
3.  it exits 0: the check must say what it says after the undisturbed run → else failed: the damage
    was taken for good
4.  a stage runs again that had been acknowledged → failed, unless each damaged file is, by itself,
    as a crash could have left it: a log that is cut at some place, the version before the last. Who
    reads that file alone cannot tell it from an earlier moment of the run, and going on from there
    is right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import Coverage, Evidence, Experiment, Fault, Reference
from checkpoint_contracts.ids import BAD_STATE_IS_REFUSED
from checkpoint_contracts.observations import Damage
from checkpoint_contracts.stages import done_again, stage_names
from checkpoint_contracts.table import gap
from checkpoint_contracts.tried import wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, last_line, listed, place

REFUSES_BAD_STATE: Final = "refuses-bad-state"
CHECKSUMMED: Final = "checksummed"
"""The capability: bit flips are noticed too."""

_STARTS_OVER: Final = (
    "That the state cannot be read is taken to mean that nothing is done yet (an except that goes "
    "on with an empty state, a default for what is missing). Begin without a state only if there "
    "is no file at all; if there is one and it cannot be read, say which and what is wrong with "
    "it, exit with a code other than 0, and leave it as it is."
)
_BELIEVED: Final = (
    "What is read is believed as it is. Store with it what tells whether it is whole and the "
    "right one (its length, a checksum, a version, a number that goes up with each save), compare "
    "that on resume, and refuse with a sentence if it does not fit. If the file is no state but a "
    "result, declare it as an output; if it may be lost, as ephemeral."
)
_SILENT: Final = (
    "The job refuses the state without a word. Print which file is damaged, how that shows, and "
    "what to do about it, before it exits."
)
_DESTROYED: Final = (
    "The damaged file is deleted, truncated or written over before the job gives up, so that "
    "nobody can save what is left in it. Look at the state before anything is changed, and keep a "
    "damaged file where it is, or rename it aside."
)
_DIES: Final = (
    "The resume trips over the damaged state instead of refusing it. Look whether the file is "
    "whole before it is used (or catch the error of reading it), say what is wrong and exit with "
    "a code other than 0."
)


@dataclass(frozen=True, slots=True)
class BadStateIsRefused:
    """The contract; it has no settings."""

    id: str = BAD_STATE_IS_REFUSED
    promise: str = "a damaged state is noticed, and neither believed nor thrown away"
    explanation: str = """\
Disks, people and half-finished copies damage files. Of the state that the undisturbed run had
recorded, after done lines and at its end, one file at a time is emptied, cut in half, cut by one
byte, replaced by garbage of the same length, by a directory, or by the version before; two are
swapped; with the capability checksummed a bit is flipped. State is every regular file in the
workspace that the run has written and that is neither an output nor ephemeral. From each such input
the job is resumed. It may refuse: exit with another code than 0, say something, and leave what was
damaged unchanged, or keep it aside, in the workspace. Or it may exit 0, if the check says what it
says after the undisturbed run and no acknowledged stage has run again: so a file that the resume
does not need may be damaged, and one that can be rebuilt may be. Anything else is a failure, a hang
and a death by a signal too.

A file that is as a crash could have left it, a log cut at some place or the version before the
last, cannot be told from an earlier moment of the run by whoever reads it alone. Then acknowledged
stages may run again too, as long as the result comes out right. Only moments from which the job
resumes well without any damage are looked at. A state of a future version is not tried yet: a
subject has no way to supply one.

It is broken by an except that goes on with an empty state, by a default for whatever is missing, by
values that are believed without a look whether they fit together, and by a cleanup that deletes
what it cannot read.

Keep it: start afresh only where there is no state at all; store a length or a checksum and a
version with it; when they do not fit say which file and what is wrong, exit with another code than
0, and leave every file as it was."""
    faults: frozenset[Fault] = frozenset({Fault.DAMAGE})
    explores: bool = True
    needs: frozenset[str] = frozenset({REFUSES_BAD_STATE})

    def inapplicable(self, evidence: Evidence) -> str | None:
        return None

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return _findings(evidence.experiments, evidence.reference)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for again in _findings(replays, evidence.reference)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        unseen = [one.point for one in evidence.experiments if _unseen(one)]
        sentences = [
            f"{place(point)}: whether what was damaged is still there is not known"
            for point in unseen[:1]
        ]
        return (*_coverage(evidence).doubts, *sentences)

    def too_little(self, evidence: Evidence) -> str | None:
        if _coverage(evidence).derived:
            return None
        return (
            "there is no state to damage: no regular file that the run has written, and that is "
            "neither an output nor ephemeral, lies in the workspace at a done line or at the end"
        )

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return _coverage(evidence).left_out


def _coverage(evidence: Evidence) -> Coverage:
    nothing = Coverage(derived=0, unique=0, explored=0)
    return evidence.coverage.get(Fault.DAMAGE, nothing)


def _unseen(experiment: Experiment) -> bool:
    refused = experiment.resume.exit_code not in (None, 0)
    damage = experiment.damage
    return damage is None or (refused and damage.kept is None)


def _findings(
    experiments: Iterable[Experiment], reference: Reference | None
) -> tuple[Finding, ...]:
    if reference is None:
        return ()
    found = (
        _look(one, one.damage, reference)
        for one in experiments
        if one.damage is not None and gap(one) is None
    )
    return tuple(one for one in found if one is not None)


def _look(experiment: Experiment, damage: Damage, reference: Reference) -> Finding | None:
    """The rules at the head of this module, in their order."""
    resume, check = experiment.resume, experiment.check
    if resume.timed_out or resume.exit_code is None:
        symptom = Symptom.HANG if resume.timed_out else Symptom.RESUME_FAILED
        what = f"resume {ending(resume)}"
        expected = "a refusal with a sentence and an exit code, or the result"
        return _finding(experiment, symptom, what, (expected, _told(experiment)), _DIES)
    if not resume.succeeded or check is None:
        return _refused(experiment, damage)
    wrong = wrong_check(check, reference.check)
    if wrong is not None:
        symptom, words, expected, seen = wrong
        if symptom is not Symptom.CHECK_HANG:
            symptom = Symptom.DAMAGE_TAKEN
        what = f"resume exits 0 with {words}: the damage was taken for good"
        expected = f"a refusal with a sentence, or {expected}"
        return _finding(experiment, symptom, what, (expected, seen), _BELIEVED)
    again = done_again(
        stage_names(reference.events), experiment.events_before, experiment.events_after
    )
    if not again or damage.could_be:
        return None
    return _finding(
        experiment,
        Symptom.DONE_AGAIN,
        f"resume exits 0 and runs {listed(again)} again, which had been done",
        (
            f"a refusal with a sentence, or no start line for {listed(again)}",
            "the resume appended " + listed(tuple(f"start {name}" for name in again)),
        ),
        _STARTS_OVER,
    )


def _refused(experiment: Experiment, damage: Damage) -> Finding | None:
    resume = experiment.resume
    if not resume.output.strip():
        return _finding(
            experiment,
            Symptom.SILENT_STOP,
            f"resume {ending(resume)} without a word",
            ("a sentence: which file is damaged, and what to do", _told(experiment)),
            _SILENT,
        )
    if damage.kept is not False:
        return None
    names = listed(damage.paths)
    return _finding(
        experiment,
        Symptom.DAMAGE_DESTROYED,
        f"resume {ending(resume)}, and what was left of {names} is gone",
        (
            f"{names} as it was, or kept aside in the workspace",
            f"{_told(experiment)}\nno file in the workspace holds what stood in {names}",
        ),
        _DESTROYED,
    )


def _told(experiment: Experiment) -> str:
    resume = experiment.resume
    text = f"the resume {ending(resume)}"
    if not resume.output.strip():
        return f"{text} and says nothing"
    return f"{text} and says last: {last_line(resume.output)}"


def _finding(
    experiment: Experiment, symptom: Symptom, what: str, texts: tuple[str, str], cause: str
) -> Finding:
    expected, seen = texts
    return Finding(
        contract=BAD_STATE_IS_REFUSED,
        point=experiment.point,
        symptom=symptom,
        headline=f"{place(experiment.point)}: {what}",
        expected=expected,
        seen=seen,
        likely_cause=cause,
    )


bad_state_is_refused: Final = BadStateIsRefused()
