"""``effects-fire-once``: what a job sends out arrives once, and nobody has to guess whether it did.

Held against what the undisturbed run sent. Of a kind of effect whose ids are the same in both
undisturbed runs every single one is looked for; where ids are new in each run only their number is.
Whether the job ended with exit 0 or not, nothing may have arrived twice; nothing may be missing if
it did. A job that stops and says why, since it cannot know whether an effect arrived, is in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from checkpoint_contracts.causes import EFFECT_HAS_NO_ID, EFFECT_LOST, EFFECT_TWICE
from checkpoint_contracts.evidence import (
    CRASHES,
    CrashPoint,
    Evidence,
    Experiment,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.finished_job import finished_point
from checkpoint_contracts.ids import EFFECTS_FIRE_ONCE
from checkpoint_contracts.mixed import MixedContract
from checkpoint_contracts.observations import Effect
from checkpoint_contracts.tried import Seen, did_not_fire, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import ending, listed, listed_lines, place

EFFECTS: Final = "effects"
"""The capability: the job sends to $CHECKPOINT_EFFECTS_URL, or tells $CHECKPOINT_EFFECTS_FILE."""


def _stable(reference: Reference, kind: str) -> bool:
    """Whether the effects of this kind have the same ids in both undisturbed runs."""
    ours = Counter(one.id for one in reference.effects if one.kind == kind)
    other = reference.other_run
    if other is None:
        return False
    return ours == Counter(one.id for one in other.effects if one.kind == kind)


def _number_varies(reference: Reference) -> str | None:
    """Two undisturbed runs that did not send the same number of effects say nothing."""
    ours, other = Counter(one.kind for one in reference.effects), reference.other_run
    if other is None:
        return "it is not known what the other undisturbed run sent, so nothing can be compared"
    theirs = Counter(one.kind for one in other.effects)
    for kind in sorted(ours.keys() | theirs.keys()):
        if ours[kind] != theirs[kind]:
            return (
                f"two undisturbed runs sent {theirs[kind]} and {ours[kind]} effects of the kind "
                f"'{kind}', so it cannot be told how many there should be"
            )
    return None


def _wrong(
    seen: Sequence[Effect], reference: Reference, *, finished: bool
) -> Iterator[tuple[Symptom, tuple[str, ...]]]:
    """What arrived too often, and if the job says that it has finished, what did not."""
    twice: list[str] = []
    lost: list[str] = []
    kinds = dict.fromkeys(one.kind for one in (*reference.effects, *seen))
    for kind in kinds:
        wanted = Counter(one.id for one in reference.effects if one.kind == kind)
        have = Counter(one.id for one in seen if one.kind == kind)
        if _stable(reference, kind):
            twice += _more(kind, have - wanted)
            lost += _more(kind, wanted - have)
        elif have.total() > wanted.total():
            twice.append(f"{kind} ({have.total()} for {wanted.total()})")
        elif have.total() < wanted.total():
            lost.append(f"{kind} ({have.total()} for {wanted.total()})")
    if twice:
        yield Symptom.EFFECT_TWICE, tuple(twice)
    if lost and finished:
        yield Symptom.EFFECT_LOST, tuple(lost)


def _more(kind: str, ids: Counter[str]) -> list[str]:
    return [f"{kind} {one}".rstrip() for one in ids]


def _unread(effects: Iterable[Effect]) -> str | None:
    return next((one.problem for one in effects if one.problem), None)


def _findings(
    point: CrashPoint, where: str, seen: Sequence[Effect], reference: Reference, end: str
) -> Iterator[Finding]:
    """``end``: how the job ended at last; empty: with exit 0."""
    for symptom, which in _wrong(seen, reference, finished=not end):
        if symptom is Symptom.EFFECT_TWICE:
            what, cause = f"arrived too often: {listed(which)}", EFFECT_TWICE
            if end:
                what += f" (the job {end})"
        else:
            what, cause = f"never arrived, though the job exits 0: {listed(which)}", EFFECT_LOST
        yield Finding(
            contract=EFFECTS_FIRE_ONCE,
            point=point,
            symptom=symptom,
            headline=f"{where}: {what}",
            expected=f"as in the undisturbed run:\n{_lines(reference.effects)}",
            seen=f"arrived:\n{_lines(seen)}",
            likely_cause=cause,
        )


def _lines(effects: Iterable[Effect]) -> str:
    lines = tuple(f"{one.kind} {one.id}".rstrip() for one in effects)
    return listed_lines(lines) if lines else "(nothing)"


def _look_at(experiment: Experiment, reference: Reference) -> Seen:
    seen = (*experiment.effects_before, *experiment.effects_after)
    where = place(experiment.point)
    unread = _unread(seen)
    if unread is not None:
        return f"{where}: {unread}"
    end = "" if experiment.resume.succeeded else ending(experiment.resume)
    found = tuple(_findings(experiment.point, where, seen, reference, end))
    if not found and experiment.resume.timed_out:
        return f"{where}: the resume {end}, so what it would have sent is not known"
    return found


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    where = trial.point.operation
    if trial.shown is not None and trial.shown.step is None:
        return did_not_fire(trial, told(trial.legs[0]))
    if trial.hung:
        slow = next(leg for leg in trial.legs if leg.execution.timed_out)
        return f"{where}: {told(slow)}, so what it would have sent is not known"
    seen = tuple(one for leg in trial.legs for one in leg.effects)
    unread = _unread(seen)
    if unread is not None:
        return f"{where}: {unread}"
    # Of two at once, one that has finished speaks for both; else the last leg is the resume.
    ends = trial.legs if trial.kind is TrialKind.TWO_SENDERS else trial.legs[-1:]
    finished = any(leg.execution.succeeded for leg in ends)
    end = "" if finished else ending(ends[-1].execution)
    return tuple(_findings(trial.point, where, seen, reference, end))


def _undisturbed(reference: Reference) -> tuple[Finding, ...]:
    return tuple(_by_itself(reference, reference.effects))


def _undisturbed_again(reference: Reference, finding: Finding) -> bool:
    other = reference.other_run
    effects = () if other is None else other.effects
    return any(again.symptom is finding.symptom for again in _by_itself(reference, effects))


def _by_itself(reference: Reference, effects: tuple[Effect, ...]) -> Iterator[Finding]:
    without = tuple(dict.fromkeys(one.kind for one in effects if not one.id))
    counts = Counter((one.kind, one.id) for one in effects if one.id)
    twice = tuple(f"{kind} {name}" for (kind, name), count in counts.items() if count > 1)
    if without:
        yield _of_the_run(
            reference,
            Symptom.EFFECT_NO_ID,
            f"{listed(without)} has no id, so nobody can tell a second one from the first",
            "every effect with an 'id'",
            EFFECT_HAS_NO_ID,
        )
    if twice:
        yield _of_the_run(
            reference,
            Symptom.EFFECT_TWICE,
            f"{listed(twice)} is sent more than once",
            "every effect once",
            EFFECT_TWICE,
        )


def _of_the_run(
    reference: Reference, symptom: Symptom, what: str, expected: str, cause: str
) -> Finding:
    return Finding(
        contract=EFFECTS_FIRE_ONCE,
        point=finished_point(reference),
        symptom=symptom,
        headline=f"undisturbed: {what}",
        expected=expected,
        seen=f"arrived:\n{_lines(reference.effects)}",
        likely_cause=cause,
    )


def _gaps(evidence: Evidence) -> tuple[str, ...]:
    why = None if evidence.reference is None else _number_varies(evidence.reference)
    return () if why is None else (why,)


def _notes(evidence: Evidence) -> tuple[str, ...]:
    reference = evidence.reference
    if reference is None:
        return ()
    kinds = dict.fromkeys(one.kind for one in reference.effects)
    varying = tuple(kind for kind in kinds if not _stable(reference, kind))
    if not varying:
        return ()
    return (f"ids are new in each run, so only the number is compared: {listed(varying)}",)


effects_fire_once: Final = MixedContract(
    id=EFFECTS_FIRE_ONCE,
    promise="what the job sends out arrives once: never twice in silence, and never not at all",
    explanation="""\
Mail, a published message, a deployment, a payment: what has left the job is not undone by a crash,
and a resume that sends it again does harm. The subject tells the kit what it sends, either by HTTP
(a POST of a JSON object with `kind` and `id` to $CHECKPOINT_EFFECTS_URL, a receiver on this machine
that answers a known id with `{"duplicate": true}` and takes it as the same effect) or by appending
such an object as a line to $CHECKPOINT_EFFECTS_FILE, where the same id twice is twice. An arrival
is an operation of the recording, so a crash point lies right before and right after each; what had
arrived by then still has, whatever the crash takes. After every resume from a kill, a torn write or
a power loss all that the undisturbed run sent must have arrived once: by kind and id where the ids
are the same in two undisturbed runs, else by their number. Besides, of up to eight requests of the
run the reply is lost: the effect has arrived, the connection is reset, and whatever the run and
then the resume make of it, it must not arrive again; and where the job does not say that only one
of it works at a time (exclusive), two are started at the same instant, three times. Nothing may
arrive twice however the job ends; nothing may be missing if it exits 0. A job that cannot know
whether an effect has arrived, stops and says so, keeps this promise. An effect without an id breaks
it at once.

It is broken by a note that is made only after the effect was sent (sent again), or only before (it
is taken for sent and never was), by an id that is made anew at each attempt, and by no id at all.

Keep it: record the intent, with an id that is derived from what is sent, durably before; send
with that id as idempotency key; record the outcome after. Where the resume finds an intent
without an outcome let it ask the receiver, or send the same id again to one that knows ids, or
stop and say how to settle it.""",
    kinds=(TrialKind.LOST_REPLY, TrialKind.TWO_SENDERS),
    crashes=CRASHES,
    needs=frozenset({EFFECTS}),
    look=_look,
    look_at=_look_at,
    undisturbed=_undisturbed,
    undisturbed_again=_undisturbed_again,
    may_lack=frozenset({TrialKind.LOST_REPLY, TrialKind.TWO_SENDERS}),
    gaps_of_all=_gaps,
    notes_of_all=_notes,
)
