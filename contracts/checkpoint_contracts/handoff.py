"""``handoff-tells-next``: a reader can learn what is done and what is next, at every moment.

Judged by what the handoff said at each kill, before the resume. Acknowledged is what has a ``done``
line; committed is also what was started before the crash and not started again by the resume: it
was killed between its commit and its done line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from checkpoint_contracts.causes import (
    HANDOFF_AFTER_COMMIT,
    HANDOFF_NOT_TOLD,
    WRITTEN_IN_PLACE,
)
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Handoff, Reference
from checkpoint_contracts.ids import HANDOFF_TELLS_NEXT
from checkpoint_contracts.resume_contracts import STAGES, no_stage
from checkpoint_contracts.stages import acknowledged, stage_names, started
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, listed, place, quoted

HANDOFF: Final = "handoff"
"""The capability: there is a file or a command that tells what is done and what is next."""
HANDOFF_COMMAND: Final = "the handoff command"
"""What is wrong with a handoff begins with its name; of a command, with this."""


@dataclass(frozen=True, slots=True)
class HandoffTellsNext:
    """The contract; it has no settings."""

    id: str = HANDOFF_TELLS_NEXT
    promise: str = (
        "a reader can learn at any moment what is done, what it produced, and what is next"
    )
    explanation: str = """\
Whoever takes over a job that died, a person or a program, wants to know where it stands without
reading its code. The subject names a file in its workspace, or a command that prints the same
(--checkpoint-handoff, handoff=…): a JSON object with `done`, a list of names or of objects with a
`name` (and what each produced, its digest and size, where it lives), and `next`, a name, a list of
names, or null; `failed`, a list like `done`, may be there too. In a long job `pages` may list files
of the same form, relative to the handoff (to the workspace for a command), whose `done` comes
first; a page may name pages of its own in turn. After every kill the handoff is read before the job
is resumed. It must be there once a stage was acknowledged, and be of that form. It must name every
acknowledged stage as done, and none that is not committed: none that had never been started, or
that the resume starts again. What is next must be named as long as a stage is left, and must not be
done. Names that are no stages of the undisturbed run are not judged. Without a declared handoff the
contract is not applicable.

It is broken by a handoff that is written only at the end, or in place, or before the commit that it
speaks of, or after the done line, and by one that tells only of the last stage.

Keep it: after each commit and before its done line write the whole handoff anew, from what is
committed, to a temporary file, and os.replace() it onto its name."""
    faults: frozenset[Fault] = frozenset({Fault.KILL})
    explores: bool = True
    needs: frozenset[str] = frozenset({STAGES, HANDOFF})

    def inapplicable(self, evidence: Evidence) -> str | None:
        if HANDOFF in evidence.capabilities:
            return no_stage(evidence)
        return (
            "no handoff is declared: name the file that tells what is done and what is next, or a "
            "command that prints it (--checkpoint-handoff PATH_OR_CMD, handoff=…)"
        )

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        reference = evidence.reference
        if reference is None:
            return ()
        return tuple(
            finding
            for experiment in evidence.experiments
            for finding in _findings(experiment, reference)
        )

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays or evidence.reference is None:
            return None
        return any(
            again.cause == finding.cause
            for replay in replays
            for again in _findings(replay, evidence.reference)
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        seen = [(one.point.id, one.handoff) for one in evidence.experiments]
        unread = [handoff.unread for _, handoff in seen if handoff and handoff.unread]
        missing = [f"the handoff was not read at {where}" for where, handoff in seen if not handoff]
        return tuple(dict.fromkeys((*unread, *missing[:1])))

    def too_little(self, evidence: Evidence) -> str | None:
        if any(acknowledged(experiment.events_before) for experiment in evidence.experiments):
            return None
        return "no kill point lies behind a stage's done line, so there was nothing to tell"

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        read = sum(experiment.handoff is not None for experiment in evidence.experiments)
        return (f"handoff read: in {counted(read, 'state')}",)


class _Standing(NamedTuple):
    """Where the stages of the undisturbed run stand at one crash."""

    stages: tuple[str, ...]
    acknowledged: tuple[str, ...]
    uncommitted: frozenset[str]
    """Never started before the crash, or started again by the resume, and not acknowledged."""

    @classmethod
    def of(cls, experiment: Experiment, reference: Reference) -> _Standing:
        stages = stage_names(reference.events)
        done, begun = acknowledged(experiment.events_before), started(experiment.events_before)
        again = started(experiment.events_after) if experiment.resume.usable else frozenset[str]()
        return cls(
            stages,
            tuple(name for name in stages if name in done),
            frozenset(
                name for name in stages if name not in done and (name not in begun or name in again)
            ),
        )


def _findings(experiment: Experiment, reference: Reference) -> Iterator[Finding]:
    """At most one of each symptom."""
    handoff = experiment.handoff
    if handoff is None or handoff.unread:
        return
    standing = _Standing.of(experiment, reference)
    done = standing.acknowledged
    if handoff.absent:
        if done:
            yield _finding(
                experiment,
                Symptom.HANDOFF_ABSENT,
                f"{handoff.absent}, though {listed(done)} had been done",
                (f"a handoff that names {listed(done)} as done", handoff.absent),
                HANDOFF_AFTER_COMMIT,
            )
        return
    if handoff.problem:
        yield _finding(
            experiment,
            Symptom.HANDOFF_UNREADABLE,
            f"the handoff cannot be read: {handoff.problem}",
            (
                "a JSON object with 'done', a list, and 'next'",
                f"{handoff.problem}; it says: {quoted(handoff.text)}",
            ),
            HANDOFF_NOT_TOLD if handoff.problem.startswith(HANDOFF_COMMAND) else WRITTEN_IN_PLACE,
        )
        return
    yield from _wrong_done(experiment, handoff, standing)
    yield from _wrong_next(experiment, handoff, standing)


def _wrong_done(experiment: Experiment, handoff: Handoff, standing: _Standing) -> Iterator[Finding]:
    forgotten = tuple(name for name in standing.acknowledged if name not in handoff.done)
    if forgotten:
        yield _finding(
            experiment,
            Symptom.HANDOFF_FORGETS,
            f"the handoff does not name {listed(forgotten)}, which had been done",
            (f"done: {listed(standing.acknowledged)}", _said(handoff)),
            HANDOFF_AFTER_COMMIT,
            forgotten[0],
        )
    ahead = tuple(dict.fromkeys(name for name in handoff.done if name in standing.uncommitted))
    if ahead:
        committed = tuple(name for name in handoff.done if name not in ahead)
        expected = (
            f"done: {listed(committed) if committed else 'nothing'} ({listed(ahead)} had not been "
            "started before the crash, or is started again by the resume)"
        )
        yield _finding(
            experiment,
            Symptom.HANDOFF_AHEAD,
            f"the handoff names {listed(ahead)} as done, which is not committed",
            (expected, _said(handoff)),
            HANDOFF_AFTER_COMMIT,
            ahead[0],
        )


def _wrong_next(experiment: Experiment, handoff: Handoff, standing: _Standing) -> Iterator[Finding]:
    done = {*standing.acknowledged, *handoff.done}
    over = tuple(dict.fromkeys(name for name in handoff.next if name in done))
    left = tuple(
        name for name in standing.stages if name not in done and name not in handoff.failed
    )
    if over:
        what = f"the handoff names {listed(over)} as next, which is done"
    elif left and not handoff.names_next:
        what = f"the handoff names nothing as next, though still to do: {listed(left)}"
    else:
        return
    yield _finding(
        experiment,
        Symptom.HANDOFF_NEXT,
        what,
        (f"next: {listed(left) if left else 'nothing'}", _said(handoff)),
        HANDOFF_AFTER_COMMIT,
        (over or left)[0],
    )


def _said(handoff: Handoff) -> str:
    return f"the handoff says: {quoted(handoff.text)}"


def _finding(
    experiment: Experiment,
    symptom: Symptom,
    what: str,
    texts: tuple[str, str],
    cause: str,
    stage: str = "",
) -> Finding:
    expected, seen = texts
    return Finding(
        contract=HANDOFF_TELLS_NEXT,
        point=experiment.point,
        symptom=symptom,
        headline=f"{place(experiment.point)}: {what}",
        expected=expected,
        seen=seen,
        likely_cause=cause,
        root=f"{HANDOFF} {stage}".strip(),
    )


handoff_tells_next: Final = HandoffTellsNext()
