"""``outputs-cross-resume``: what a stage returned is what later stages get after a resume.

Judged by what each resume gave the stages, where that must be what the undisturbed run gave them:
see :mod:`checkpoint_contracts.given`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import INPUT_LOST
from checkpoint_contracts.evidence import CrashPoint, Evidence, Experiment, Fault, Reference
from checkpoint_contracts.given import EXACT, STEADY, Look, looks_at, wanted_of
from checkpoint_contracts.ids import OUTPUTS_CROSS_RESUME
from checkpoint_contracts.inputs import STAGE_INPUTS, digests, inputs
from checkpoint_contracts.resume_contracts import STAGES, no_stage
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import listed, listed_lines, place


@dataclass(frozen=True, slots=True)
class OutputsCrossResume:
    """The contract; it has no settings."""

    id: str = OUTPUTS_CROSS_RESUME
    promise: str = "what a stage returned is what later stages get after a resume"
    explanation: str = """\
A resume skips what is done, so what the done stages returned must come from disk: with its status
alone a stage is skipped and its result is gone, and the next one works with None and is marked done
too. The job says what each stage is given, as a line `input NAME SHA256` in $CHECKPOINT_EVENTS, the
digest taken of what the stage really gets. After every kill, the input lines of the resume must
have digests that the undisturbed run wrote for the same stage, and a stage that first starts in the
resume and gets done must have all of them. If all that ran before the stage was acknowledged before
the crash, they must be equal. If some of it first runs in the resume, the stage is judged only if
both undisturbed runs gave it the same (a digest of something that holds the workspace's path never
is the same). If some of it runs a second time it may rightly return something else, and the stage
is not judged. A stage for which the undisturbed run wrote an input line, and that the resume starts
and finishes without one, got nothing at all. How the resume ends has no part in this. Without input
lines the contract is not applicable.

It is broken by a status that is saved without what the stage returned, and by values that do not
come back as they went: NaN and infinity through JSON, bytes as text, a tuple as a list, numbers as
keys, None that is dropped, text that is normalised, bf16 that is rounded or widened.

Keep it: save what a stage returned together with its status, in a form that gives back what was put
in or refuses it; let the resume load it; give later stages what was loaded in the first run too."""
    faults: frozenset[Fault] = frozenset({Fault.KILL})
    explores: bool = True
    needs: frozenset[str] = frozenset({STAGES, STAGE_INPUTS})

    def inapplicable(self, evidence: Evidence) -> str | None:
        reference = evidence.reference
        if reference is None or any(True for _ in inputs(reference.events)):
            return no_stage(evidence)
        return (
            "no stage inputs were seen: the undisturbed run wrote no line 'input NAME SHA256' to "
            "$CHECKPOINT_EVENTS"
        )

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return tuple(
            _finding(look, evidence.reference)
            for look in _looks(evidence)
            if look.basis and not look.as_it_was and not _varies(evidence, look)
        )

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        if not any(replay.point == finding.point for replay in evidence.replays):
            return None
        looks = [look for look in _looks(evidence) if _is_of(look, finding)]
        return any(
            _is_of(again, finding) and again.shows_as(look)
            for look in looks
            for again in _looks_again(evidence, finding.point)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def too_little(self, evidence: Evidence) -> str | None:
        if any(look.basis and look.crossed for look in _looks(evidence)):
            return None
        return (
            "no resume gave a stage something that an earlier stage had returned before the crash, "
            "so there is nothing to compare"
        )

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        looks = tuple(_looks(evidence))
        notes: list[str] = []
        judged = sum(look.basis != "" for look in looks)
        if judged:
            notes.append(f"stage inputs compared: {judged}")
        left_out = tuple(dict.fromkeys(look.stage for look in looks if not look.basis))
        if left_out:
            notes.append(
                "not compared where an earlier stage ran a second time, or where one ran in the "
                "resume and two undisturbed runs did not give them the same input: "
                f"{listed(left_out)}"
            )
        varying = tuple(
            dict.fromkeys(look.stage for look in looks if look.basis and _varies(evidence, look))
        )
        if varying:
            notes.append(
                "not compared where an earlier stage ran in the resume, since the same state, "
                f"resumed twice, did not give them the same input: {listed(varying)}"
            )
        return tuple(notes)


def shows_what_may_vary(experiment: Experiment, reference: Reference) -> bool:
    """Whether a stage got an input that may be another one each time, by the second it is made in.

    Its replay tells, if it is made in another second.
    """
    looks = looks_at(experiment, wanted_of(reference))
    return any(look.basis == STEADY and look.other for look in looks)


def _looks(evidence: Evidence) -> Iterator[Look]:
    if evidence.reference is not None:
        wanted = wanted_of(evidence.reference)
        for experiment in evidence.experiments:
            yield from looks_at(experiment, wanted)


def _looks_again(evidence: Evidence, point: CrashPoint) -> Iterator[Look]:
    """At the replays of one point."""
    if evidence.reference is not None:
        wanted = wanted_of(evidence.reference)
        for replay in evidence.replays:
            if replay.point == point:
                yield from looks_at(replay, wanted)


def _varies(evidence: Evidence, look: Look) -> bool:
    """Whether the same state, resumed twice, gave the stage two other inputs.

    Then it varies by itself, and two undisturbed runs agreed by chance: a time in whole seconds.
    """
    if look.basis != STEADY or not look.other:
        return False
    return any(
        again.stage == look.stage and again.other and not again.other & look.other
        for again in _looks_again(evidence, look.point)
    )


def _is_of(look: Look, finding: Finding) -> bool:
    return (
        look.point == finding.point
        and _root(look) == finding.root
        and _symptom(look) is finding.symptom
    )


def _root(look: Look) -> str:
    """A value that does not come back is one flaw, wherever the kill stands."""
    return f"input {look.stage}"


def _symptom(look: Look) -> Symptom:
    return Symptom.NO_INPUT if look.is_missing else Symptom.OTHER_INPUT


def _finding(look: Look, reference: Reference | None) -> Finding:
    wanted = digests(reference.events).get(look.stage, frozenset()) if reference else frozenset()
    why = (
        "all that ran before it had been done before the crash"
        if look.basis == EXACT
        else "both undisturbed runs gave it the same"
    )
    if look.is_missing:
        what = f"resume starts and finishes {look.stage} without any input"
        seen = f"no input line for {look.stage}, neither before the crash nor from the resume"
    elif look.other:
        what = f"resume gives {look.stage} another input than the undisturbed run did"
        seen = _lines(look.stage, look.other)
    else:
        what = f"resume gives {look.stage} less input than the undisturbed run did"
        seen = f"missing is:\n{_lines(look.stage, look.lost)}"
    return Finding(
        contract=OUTPUTS_CROSS_RESUME,
        point=look.point,
        symptom=_symptom(look),
        headline=f"{place(look.point)}: {what}",
        expected=f"{_lines(look.stage, wanted)}\n({why})",
        seen=seen,
        likely_cause=INPUT_LOST,
        root=_root(look),
    )


def _lines(stage: str, given: frozenset[str]) -> str:
    return listed_lines(tuple(f"input {stage} {digest}" for digest in sorted(given)))


outputs_cross_resume: Final = OutputsCrossResume()
