"""``changed-pipeline-is-noticed``: what the old pipeline did is not taken for the new one's.

From the state after each stage of the original pipeline was done, a changed pipeline is the resume.
Judged, in this order:

1.  it passes its deadline, or dies by a signal → failed
2.  it exits with another code than 0: it refused. It must have said something; and the original
    pipeline, resumed from the state as the refusal left it, must still end with its own result, and
    start nothing that had been done → else failed. If it does not end so without the refusal
    either, nothing is concluded
3.  it exits 0: the check must say what it says after the changed pipeline's own undisturbed run,
    and each stage of that run that had not been begun before the crash under that name must have
    been started → else failed: silently taken as done
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.evidence import Evidence, Execution, Reference, Trial, TrialKind, Variant
from checkpoint_contracts.ids import CHANGED_PIPELINE_IS_NOTICED
from checkpoint_contracts.resume_contracts import STAGES
from checkpoint_contracts.stages import done_again, skipped, stage_names
from checkpoint_contracts.trial import Leg
from checkpoint_contracts.tried import Seen, TrialContract, finding, told, wrong_check
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, last_line, listed

VARIANTS: Final = "variants"
"""The capability: the subject names commands of changed pipelines."""

_BY_POSITION: Final = (
    "Done stages are matched by their position, or by their name alone, whatever they were made "
    "from. Store with each done stage its name and a fingerprint of what decides its output (its "
    "parameters, its version, the digests of its inputs), compare them on resume, and run again "
    "what differs and all that follows from it; or refuse with a sentence."
)
_SILENT: Final = (
    "The job refuses the changed pipeline without a word. Print what differs from what the state "
    "was made with, and what to do about it, before it exits."
)
_SPOILS: Final = (
    "The state is changed before the pipeline is compared with it (emptied, migrated, claimed for "
    "the new one). Compare first, and when it is refused leave every file as it was. If it is the "
    "command itself that edits an input in the workspace, let it take the new input from elsewhere."
)
_DIES: Final = (
    "The changed pipeline trips over the state of the old one. Compare what the state was made "
    "with before anything in it is used, and run again what differs or refuse with a sentence."
)


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    variant = next((one for one in evidence.variants if one.number == trial.variant), None)
    if variant is None:
        return f"{trial.point.operation}: its own undisturbed run is not known"
    leg = trial.legs[0]
    if leg.execution.timed_out or leg.execution.signal is not None:
        return (_ended_badly(trial, variant, leg),)
    if not leg.execution.succeeded:
        return _refused(trial, variant, leg, reference)
    if trial.check is None:
        return f"{trial.point.operation}: the check was not run"
    return tuple(_accepted(trial, leg, trial.check, variant))


def _accepted(trial: Trial, leg: Leg, check: Execution, variant: Variant) -> Iterator[Finding]:
    """Exit 0: at most one finding."""
    never = skipped(_stages(variant), trial.events_before, leg.events)
    wrong = wrong_check(check, variant.check)
    if wrong is not None:
        symptom, words, expected, seen = wrong
        if symptom is not Symptom.CHECK_HANG:
            symptom = Symptom.CHANGE_AS_DONE
        if never:
            seen += f"\nnever started: {listed(never)}"
        yield _finding(
            trial,
            variant,
            symptom,
            f"it exits 0 with {words}: old work was silently taken as done",
            (f"a refusal with a sentence, or what it gives undisturbed: {expected}", seen),
            _BY_POSITION,
        )
    elif never:
        yield _finding(
            trial,
            variant,
            Symptom.CHANGE_AS_DONE,
            f"it exits 0, but {listed(never)} never ran: it was silently taken as done",
            (
                f"a refusal, or a start line for {listed(never)}: it had not been begun before",
                f"no start line for {listed(never)}, neither before the crash nor from it",
            ),
            _BY_POSITION,
        )


def _stages(variant: Variant) -> tuple[str, ...]:
    """Those that it has in every undisturbed run."""
    stages = stage_names(variant.events)
    if variant.other_events is None:
        return stages
    also = stage_names(variant.other_events)
    return tuple(name for name in stages if name in also)


def _refused(trial: Trial, variant: Variant, leg: Leg, reference: Reference) -> Seen:
    found: list[Finding] = []
    if not leg.execution.output.strip():
        found.append(
            _finding(
                trial,
                variant,
                Symptom.SILENT_STOP,
                f"it {ending(leg.execution)} without a word",
                ("a sentence: what has changed, and what to do", told(leg)),
                _SILENT,
            )
        )
    if len(trial.legs) < 2:
        return f"{trial.point.operation}: the original was not resumed after the refusal"
    spoilt = _ends_otherwise(trial.legs[1], trial.check, reference)
    if spoilt is None:
        return _done_again(trial, variant, reference, found)
    if not trial.unspoilt or _ends_otherwise(trial.unspoilt[0], trial.unspoilt_check, reference):
        return tuple(found) or (
            f"{trial.point.operation}: whether the refusal spoilt the state is not known: the "
            "original pipeline does not resume from there without it either"
        )
    expected, seen = spoilt
    found.append(
        _finding(
            trial,
            variant,
            Symptom.REFUSAL_SPOILS,
            "it refuses, and the original does not resume any more: the refusal spoilt the state",
            (f"the original resumes as if there had been no refusal: {expected}", seen),
            _SPOILS,
        )
    )
    return tuple(found)


def _done_again(trial: Trial, variant: Variant, reference: Reference, found: list[Finding]) -> Seen:
    """Whether the refusal made the original forget what had been done."""
    stages = stage_names(reference.events)
    again = done_again(stages, trial.events_before, trial.legs[1].events)
    if not again:
        return tuple(found)
    if not trial.unspoilt:
        return tuple(found) or (
            f"{trial.point.operation}: after the refusal the original runs {listed(again)} again, "
            "and whether it does so without it is not known"
        )
    anyway = done_again(stages, trial.events_before, trial.unspoilt[0].events)
    lost = tuple(name for name in again if name not in anyway)
    if lost:
        found.append(
            _finding(
                trial,
                variant,
                Symptom.REFUSAL_SPOILS,
                f"it refuses, and the original runs {listed(lost)} again, which had been done: the "
                "refusal spoilt the state",
                (
                    f"the original does not start {listed(lost)}, as it does not without a refusal",
                    "the original appended " + listed(tuple(f"start {name}" for name in lost)),
                ),
                _SPOILS,
            )
        )
    return tuple(found)


def _ends_otherwise(
    leg: Leg, check: Execution | None, reference: Reference
) -> tuple[str, str] | None:
    """Expected and seen, if the original pipeline does not end with its result; else None."""
    if not leg.execution.succeeded or check is None:
        return "exit 0", told(leg)
    wrong = wrong_check(check, reference.check)
    return None if wrong is None else (wrong[2], wrong[3])


def _ended_badly(trial: Trial, variant: Variant, leg: Leg) -> Finding:
    return _finding(
        trial,
        variant,
        Symptom.HANG if leg.execution.timed_out else Symptom.RESUME_FAILED,
        f"it {ending(leg.execution)}",
        ("a refusal with a sentence and an exit code, or exit 0", _said(leg)),
        _DIES,
    )


def _said(leg: Leg) -> str:
    said = last_line(leg.execution.output)
    return f"it {ending(leg.execution)}" + (f" and says last: {said}" if said else "")


def _finding(
    trial: Trial,
    variant: Variant,
    symptom: Symptom,
    what: str,
    texts: tuple[str, str],
    cause: str,
) -> Finding:
    expected, seen = texts
    return finding(
        CHANGED_PIPELINE_IS_NOTICED,
        trial,
        symptom,
        what,
        expected=expected,
        seen=f"{seen}\nchanged pipeline {variant.number} is: {variant.command}",
        cause=cause,
    )


changed_pipeline_is_noticed: Final = TrialContract(
    id=CHANGED_PIPELINE_IS_NOTICED,
    promise=(
        "a stage that was renamed, moved or given other parameters or input is not silently taken "
        "as done"
    ),
    explanation="""\
Between the crash and the resume somebody edits the pipeline. The subject names such edits: commands
of changed pipelines (changed=[…], --checkpoint-changed CMD). Each is first run undisturbed, in a
fresh workspace: it must differ from the original in its result or in its stages. Then the original
is killed right after each of its done lines, and at its end, and the changed pipeline is the resume
(up to twelve states for each, or all with --checkpoint-exhaustive). It may refuse, with a sentence
and another exit code than 0, if the original can still be resumed after that, with its own result
and without running again what had been done. Or it may exit 0, if the result is that of its own
undisturbed run and every stage of it that had not been begun before the crash under that name was
started. Anything else is a failure, a hang and a death by a signal too.

It is broken by stages that are matched by position, by a stage whose parameters, version or input
are not compared, by a refusal without a word, and by one that spoils the state.

Keep it: store with each done stage its name and a fingerprint of its parameters and inputs; on
resume compare before anything is used or changed; run again what differs and what follows from it,
or say what differs and exit with another code than 0.""",
    kinds=(TrialKind.CHANGED,),
    needs=frozenset({STAGES, VARIANTS}),
    look=_look,
)
