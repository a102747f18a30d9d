"""What a resume gave the stages, held against what the undisturbed run gave them.

Held against each other are the digests of the undisturbed run's ``input`` lines and of those that a
resume appends. That says something of a stage only where its input must be the same:

* *exact*: all that the undisturbed run had started before the stage's last ``input`` line was
  acknowledged before the crash, and the resume started none of it again. What the stage gets was
  then produced by the very run that was recorded.
* *steady*: some of it ran for the first time in the resume. Then only stages are judged for which
  both undisturbed runs wrote the same digests.

Where some of it ran a second time it may rightly have returned something else (how much it found in
a cache, which attempt it was), and nothing is said. That does not hold of what was done only after
the stage, as a phase that the stage is a part of: it has returned nothing yet. A name that was
started before all others and done after them is the job itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Experiment, Reference
from checkpoint_contracts.inputs import digests, inputs
from checkpoint_contracts.stages import acknowledged, around, started, whole_run

EXACT: Final = "exact"
STEADY: Final = "steady"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the undisturbed run says of one stage."""

    stage: str
    digests: frozenset[str]
    earlier: frozenset[str]
    """What it had started before the stage's last input line, itself and the job left out."""
    around: frozenset[str]
    """Of these, what was done only after the stage: a phase that the stage is a part of, say."""
    is_steady: bool
    """Whether the other undisturbed run gave it the same."""
    as_many: bool
    """Whether the other undisturbed run gave it as many things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
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
    lost: frozenset[str]
    """Digests that the undisturbed run has and it has not, although it ran here from its start to
    its end, and nowhere else."""
    is_missing: bool
    """Started and finished with no input line."""

    @property
    def as_it_was(self) -> bool:
        return not self.other and not self.lost and not self.is_missing

    def shows_as(self, first: Look) -> bool:
        """Whether it shows what a first look has shown."""
        if first.is_missing:
            return self.is_missing
        if first.other:
            return bool(self.other & first.other)
        return bool(self.lost & first.lost)


def wanted_of(reference: Reference) -> Mapping[str, Wanted]:
    """By stage, for every one that was given something."""
    other = digests(reference.other_run.events) if reference.other_run is not None else {}
    last = {
        one.stage: number for number, line in enumerate(reference.events) for one in inputs([line])
    }
    job = whole_run(reference.events)
    return {
        stage: Wanted(
            stage=stage,
            digests=given,
            earlier=started(reference.events[: last[stage]]) - {stage} - job,
            around=around(reference.events, stage),
            is_steady=given == other.get(stage),
            as_many=len(given) == len(other.get(stage, ())),
        )
        for stage, given in digests(reference.events).items()
    }


def looks_at(experiment: Experiment, wanted: Mapping[str, Wanted]) -> Iterator[Look]:
    """Of every stage that the resume gave something, or ran with nothing."""
    if not experiment.resume.usable:
        return
    given_before, given_after = digests(experiment.events_before), digests(experiment.events_after)
    done_before, begun = acknowledged(experiment.events_before), started(experiment.events_before)
    ran = started(experiment.events_after)
    finished = ran & acknowledged(experiment.events_after)
    for stage, one in wanted.items():
        given = given_after.get(stage, frozenset())
        is_missing = not given and stage in finished and stage not in given_before
        whole = stage in finished - begun
        if not given and not is_missing:
            continue
        basis = _basis(one, done_before, begun, ran)
        yield Look(
            point=experiment.point,
            stage=stage,
            basis=basis,
            crossed=bool((one.earlier & begun) - ran),
            other=given - one.digests,
            lost=one.digests - given if given and one.as_many and whole else frozenset(),
            is_missing=is_missing,
        )


def _basis(one: Wanted, done: frozenset[str], begun: frozenset[str], ran: frozenset[str]) -> str:
    """``done`` and ``begun`` before the crash, ``ran`` in the resume."""
    if one.earlier and one.earlier <= done - ran:
        return EXACT
    second_time = (one.earlier - one.around) & begun & ran
    return STEADY if one.is_steady and not second_time else ""
