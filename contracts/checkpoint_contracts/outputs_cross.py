"""``outputs-cross-resume``: what a stage returned is what later stages get after a resume.

Held against each other are the digests of the undisturbed run's ``input`` lines and of those that a
resume appends. That says something of a stage only where its input must be the same:

* *exact*: all that the undisturbed run had started before the stage's last ``input`` line was
  acknowledged before the crash, and the resume started none of it again. What the stage gets was
  then produced by the very run that was recorded.
* *steady*: some of it ran again in the resume, and may rightly have returned something else. Then
  only stages are judged for which both undisturbed runs wrote the same digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import INPUT_LOST
from checkpoint_contracts.evidence import CrashPoint, Evidence, Experiment, Fault, Reference
from checkpoint_contracts.ids import OUTPUTS_CROSS_RESUME
from checkpoint_contracts.inputs import STAGE_INPUTS, digests, inputs
from checkpoint_contracts.resume_contracts import STAGES, no_stage
from checkpoint_contracts.stages import acknowledged, started
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
have digests that the undisturbed run wrote for the same stage. If all that ran before the stage was
acknowledged before the crash, they must be equal. If some of it runs again it may rightly return
something else, and the stage is judged only if both undisturbed runs gave it the same (a digest of
something that holds the workspace's path never is the same). A stage for which the undisturbed run
wrote an input line, and that the resume starts and finishes without one, got nothing at all. How
the resume ends has no part in this. Without input lines the contract is not applicable.

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
                "not compared where an earlier stage ran again, since two undisturbed runs did not "
                f"give them the same input: {listed(left_out)}"
            )
        varying = tuple(
            dict.fromkeys(look.stage for look in looks if look.basis and _varies(evidence, look))
        )
        if varying:
            notes.append(
                "not compared where an earlier stage ran again, since the same state, resumed "
                f"twice, did not give them the same input: {listed(varying)}"
            )
        return tuple(notes)


_EXACT: Final = "exact"
_STEADY: Final = "steady"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the undisturbed run says of one stage."""

    stage: str
    digests: frozenset[str]
    earlier: frozenset[str]
    """What it had started before the stage's last input line, itself left out."""
    is_steady: bool
    """Whether the other undisturbed run gave it the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One stage that one resume gave something, or ran with nothing."""

    point: CrashPoint
    stage: str
    basis: str
    """``exact``, ``steady``, or empty: its input need not be the same."""
    crossed: bool
    """Whether an earlier stage was begun before the crash, and not started again: what it returned
    came from disk."""
    other: frozenset[str]
    """Digests that the undisturbed run has not."""
    is_missing: bool
    """Started and finished with no input line."""

    @property
    def as_it_was(self) -> bool:
        return not self.other and not self.is_missing

    def shows_as(self, first: _Look) -> bool:
        """Whether it shows what a first look has shown."""
        return self.is_missing if first.is_missing else bool(self.other & first.other)


def _looks(evidence: Evidence) -> Iterator[_Look]:
    if evidence.reference is not None:
        wanted = _wanted(evidence.reference)
        for experiment in evidence.experiments:
            yield from _looks_at(experiment, wanted)


def _looks_again(evidence: Evidence, point: CrashPoint) -> Iterator[_Look]:
    """At the replays of one point."""
    if evidence.reference is not None:
        wanted = _wanted(evidence.reference)
        for replay in evidence.replays:
            if replay.point == point:
                yield from _looks_at(replay, wanted)


def _wanted(reference: Reference) -> Mapping[str, _Wanted]:
    other = digests(reference.other_run.events) if reference.other_run is not None else {}
    last = {
        one.stage: number for number, line in enumerate(reference.events) for one in inputs([line])
    }
    return {
        stage: _Wanted(
            stage=stage,
            digests=given,
            earlier=started(reference.events[: last[stage]]) - {stage},
            is_steady=given == other.get(stage),
        )
        for stage, given in digests(reference.events).items()
    }


def _looks_at(experiment: Experiment, wanted: Mapping[str, _Wanted]) -> Iterator[_Look]:
    if not experiment.resume.usable:
        return
    given_before, given_after = digests(experiment.events_before), digests(experiment.events_after)
    done_before, begun = acknowledged(experiment.events_before), started(experiment.events_before)
    ran = started(experiment.events_after)
    finished = ran & acknowledged(experiment.events_after)
    for stage, one in wanted.items():
        given = given_after.get(stage, frozenset())
        is_missing = not given and stage in finished and stage not in given_before
        if not given and not is_missing:
            continue
        basis = _STEADY if one.is_steady else ""
        if one.earlier and (one.earlier & done_before) - ran == one.earlier:
            basis = _EXACT
        yield _Look(
            point=experiment.point,
            stage=stage,
            basis=basis,
            crossed=bool((one.earlier & begun) - ran),
            other=given - one.digests,
            is_missing=is_missing,
        )


def _varies(evidence: Evidence, look: _Look) -> bool:
    """Whether the same state, resumed twice, gave the stage two other inputs.

    Then it varies by itself, and two undisturbed runs agreed by chance: a time in whole seconds.
    """
    if look.basis != _STEADY or not look.other:
        return False
    return any(
        again.stage == look.stage and again.other and not again.other & look.other
        for again in _looks_again(evidence, look.point)
    )


def _is_of(look: _Look, finding: Finding) -> bool:
    return (
        look.point == finding.point
        and _root(look) == finding.root
        and _symptom(look) is finding.symptom
    )


def _root(look: _Look) -> str:
    """A value that does not come back is one flaw, wherever the kill stands."""
    return f"input {look.stage}"


def _symptom(look: _Look) -> Symptom:
    return Symptom.NO_INPUT if look.is_missing else Symptom.OTHER_INPUT


def _finding(look: _Look, reference: Reference | None) -> Finding:
    wanted = digests(reference.events).get(look.stage, frozenset()) if reference else frozenset()
    why = (
        "all that ran before it had been done before the crash"
        if look.basis == _EXACT
        else "both undisturbed runs gave it the same"
    )
    if look.is_missing:
        what = f"resume starts and finishes {look.stage} without any input"
        seen = f"no input line for {look.stage}, neither before the crash nor from the resume"
    else:
        what = f"resume gives {look.stage} another input than the undisturbed run did"
        seen = _lines(look.stage, look.other)
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
