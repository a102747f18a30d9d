"""``resume-keeps-work``: a killed job goes on; it does not start over.

Judged by the cost of resumes (:mod:`checkpoint_contracts.cost`), in this order:

1. *It starts over even when it is done*: failed if the resume of the finished job repeats the run
   (user CPU, bytes and operations, all three at the limit or above). That is how a job which writes
   nothing before its end is seen. CPU is noisy on a busy machine, so there are up to three looks at
   the finished job: the resume of it, another one that the kit makes, and the one after the kill at
   the last step, which leaves the same state. Two of them must show it; if there is only one, that
   one decides.
2. *It does not resume, it restarts*: failed if at **every** remaining kill point of the run's last
   quarter (by step) the deciding ratio is at the limit or above. Left out are points whose
   un-resumed state already gives the reference result, or of which that is not known, and points
   from which the resume did not end well: other contracts report those. The point with the lowest
   ratio, the best chance to acquit, is the one that is replayed. While the cost from some point of
   the last quarter could not be seen, "every" is not established and nothing is found.
3. Not applicable if fewer than two points remain.

The limit is :attr:`~checkpoint_contracts.evidence.Evidence.restart_ratio`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import RESTARTS, STARTS_OVER_WHEN_DONE
from checkpoint_contracts.cost import (
    Scale,
    cpu_comparable,
    nearest_reference,
    reaches,
    repeats_everything,
    scale_of,
)
from checkpoint_contracts.curve import curve_notes, worst_loss
from checkpoint_contracts.evidence import (
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Reference,
)
from checkpoint_contracts.ids import RESUME_KEEPS_WORK
from checkpoint_contracts.table import ends_well, gap
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, place

LAST_QUARTER: Final = 0.75
FEWEST_POINTS: Final = 2
FINISHED_SIGNATURE: Final = "the finished job"
LOOKS_NEEDED: Final = 2
"""Looks at the finished job that must show that it starts over, where there are several."""


def in_last_quarter(point: CrashPoint, equal_steps: tuple[int, ...] = ()) -> bool:
    """Whether a kill there, or one that leaves the same state, is of the run's last quarter."""
    if point.fault is not Fault.KILL:
        return False
    return max((point.step, *equal_steps)) >= LAST_QUARTER * point.total_steps


@dataclass(frozen=True, slots=True)
class _LastQuarter:
    """The kill points of the last quarter, sorted out."""

    remaining: tuple[Experiment, ...]
    finished: int
    """Points whose un-resumed state already gives the reference result."""
    ended_badly: int
    unseen: tuple[str, ...]
    """Sentences: why the cost of a resume, or the un-resumed state, could not be seen."""
    unasked: int
    """Points whose un-resumed state was not checked."""

    @property
    def points(self) -> int:
        """Kill points that remain; several may leave the same state."""
        return sum(experiment.kills_from(LAST_QUARTER) for experiment in self.remaining)


def _last_quarter(evidence: Evidence, reference: Reference) -> _LastQuarter:
    remaining: list[Experiment] = []
    unseen: list[str] = []
    finished = ended_badly = unasked = 0
    for experiment in evidence.experiments:
        points = experiment.kills_from(LAST_QUARTER)
        if not points:
            continue
        sentence, before = gap(experiment), experiment.unresumed_check
        if sentence is not None:
            unseen.append(sentence)
        elif not ends_well(experiment, reference):
            ended_badly += points
        elif before is None:
            unasked += points
        elif not before.usable:
            unseen.append(before.refusal or before.problem or "")
        elif before.succeeded and before.output == reference.check.output:
            finished += points
        else:
            remaining.append(experiment)
    return _LastQuarter(tuple(remaining), finished, ended_badly, tuple(unseen), unasked)


@dataclass(frozen=True, slots=True)
class ResumeKeepsWork:
    """The contract; it has no settings."""

    id: str = RESUME_KEEPS_WORK
    promise: str = "a killed job goes on; it does not start over"
    explanation: str = """\
What a resume costs is compared with what the undisturbed run cost, in two ratios that are never
added: user CPU less start-up, and bytes written under the workspace or sent to the object store
that is declared. CPU decides; where start-up is half of the run or more, or less than 0.2 s
remains, bytes decide and a note says so. Start-up is the CPU of the run up to its first operation
or event, or that of resuming the finished job if that writes nothing, whichever is larger. Of
several undisturbed runs the one that used the least CPU counts: a busy machine only adds to it.

The contract is broken ("it does not resume, it restarts") if from every kill point in the last
quarter of the run the resume repeats at least 90 % of the run (--checkpoint-restart-ratio). Points
at which the result was already there are left out; with fewer than two others it is not applicable.
It is also broken ("it starts over even when it is done") if resuming the finished job repeats at
least 90 % of the run's CPU, bytes and operations, all three.

It is broken by a loop without a checkpoint, by one that writes checkpoints and never reads them,
and by one that resumes from the oldest.

Keep it: save the progress as the job goes, load the newest whole checkpoint at the start, and
return at once if the job is done."""
    faults: frozenset[Fault] = frozenset({Fault.KILL})
    explores: bool = True
    needs: frozenset[str] = frozenset()

    def inapplicable(self, evidence: Evidence) -> str | None:
        reference = nearest_reference(evidence)
        if reference is None or scale_of(reference).ratio(reference.run) is not None:
            return None
        return (
            "there is nothing to measure a resume by: the run writes no bytes under the workspace, "
            f"and {scale_of(reference).cpu_unjudged}"
        )

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        reference = nearest_reference(evidence)
        if reference is None:
            return ()
        found = (_starts_over_when_done(evidence, reference), _restarts(evidence, reference))
        return tuple(finding for finding in found if finding is not None)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        reference, limit = nearest_reference(evidence), evidence.restart_ratio
        if reference is None:
            return None
        if finding.point.signature == FINISHED_SIGNATURE:
            looks = _looks(evidence, reference)
            return len(looks) == 1 or len(_showing(looks, reference, limit)) >= LOOKS_NEEDED
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        scale = scale_of(reference)
        return all(
            ends_well(replay, reference) and reaches(scale.ratio(replay.resume), limit)
            for replay in replays
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        reference = nearest_reference(evidence)
        if reference is None:
            return ()
        quarter = _last_quarter(evidence, reference)
        if quarter.unasked and quarter.points < FEWEST_POINTS:
            unknown = (
                f"at {counted(quarter.unasked, 'kill point')} of the run's last quarter it is not "
                "known whether the result was already there"
            )
            return (*quarter.unseen, unknown)
        return quarter.unseen

    def too_little(self, evidence: Evidence) -> str | None:
        reference = nearest_reference(evidence)
        if reference is None:
            return None
        quarter = _last_quarter(evidence, reference)
        if quarter.points >= FEWEST_POINTS:
            return None
        return (
            f"only {counted(quarter.points, 'kill point')} of the run's last quarter can "
            f"be judged, {FEWEST_POINTS} are needed (left out: {quarter.finished} at which the "
            f"result was already there, {quarter.ended_badly} from which the resume did not end "
            "well)"
        )

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        reference = nearest_reference(evidence)
        if reference is None:
            return ()
        scale = scale_of(reference)
        notes: list[str] = []
        if scale.cpu_unjudged is not None:
            notes.append(f"CPU is not judged: {scale.cpu_unjudged}; bytes decide")
        notes += curve_notes(evidence)
        worst = worst_loss(_costs(_last_quarter(evidence, reference), scale), reference)
        return (*notes, worst) if worst else tuple(notes)


def _starts_over_when_done(evidence: Evidence, reference: Reference) -> Finding | None:
    run, looks = reference.run, _looks(evidence, reference)
    showing = _showing(looks, reference, evidence.restart_ratio)
    if looks[0] not in showing and len(showing) < LOOKS_NEEDED:
        return None
    again = showing[0]
    total_steps = max(
        (experiment.point.total_steps for experiment in evidence.experiments),
        default=run.operations,
    )
    point = CrashPoint(
        fault=Fault.KILL,
        step=total_steps,
        variant="kill",
        operation="the job had finished",
        signature=FINISHED_SIGNATURE,
        total_steps=total_steps,
    )
    written = again.bytes_written / run.bytes_written
    return Finding(
        contract=RESUME_KEEPS_WORK,
        point=point,
        symptom=Symptom.STARTS_OVER,
        headline=(
            f"resumed after it had finished: resume writes {written:.0%} of the run's bytes again: "
            "it starts over even when it is done"
        ),
        expected=(
            f"less than {evidence.restart_ratio:.0%} of the run's CPU, bytes or operations again"
        ),
        seen=(
            f"{again.bytes_written} of {run.bytes_written} bytes, "
            f"{again.operations} of {run.operations} operations, "
            f"{again.user_cpu_s:.2f} of {run.user_cpu_s:.2f} s of user CPU"
            + ("" if cpu_comparable(run) else " (too short to be compared)")
        ),
        likely_cause=STARTS_OVER_WHEN_DONE,
    )


def _restarts(evidence: Evidence, reference: Reference) -> Finding | None:
    quarter = _last_quarter(evidence, reference)
    scale = scale_of(reference)
    costs = _costs(quarter, scale)
    if quarter.unseen or quarter.points < FEWEST_POINTS or not costs:
        return None
    if not all(reaches(ratio, evidence.restart_ratio) for ratio, _ in costs):
        return None
    ratio, lowest = min(costs, key=lambda cost: (cost[0], cost[1].point.step))
    return Finding(
        contract=RESUME_KEEPS_WORK,
        point=lowest.point,
        symptom=Symptom.STARTS_OVER,
        headline=(
            f"{place(lowest.point)}: resume repeats {ratio:.0%} of the run ({scale.unit}): "
            "it does not resume, it restarts"
        ),
        expected=(
            f"less than {evidence.restart_ratio:.0%} of the undisturbed run again, from at least "
            f"one of the {quarter.points} kill points in the run's last quarter"
        ),
        seen=(
            f"{ratio:.0%} or more from every one of them; from this one "
            f"{_cost(lowest.resume)}, where the undisturbed run took {_cost(reference.run)}"
        ),
        likely_cause=RESTARTS,
    )


def _costs(quarter: _LastQuarter, scale: Scale) -> list[tuple[float, Experiment]]:
    """The deciding ratio of each remaining point; none where nothing can be measured."""
    ratios = [(scale.ratio(experiment.resume), experiment) for experiment in quarter.remaining]
    return [(ratio, experiment) for ratio, experiment in ratios if ratio is not None]


def _looks(evidence: Evidence, reference: Reference) -> list[Execution]:
    """The finished job resumed: first, by the kit once more, after the kill at the last step."""
    looks = [reference.finished_resume]
    if reference.finished_again is not None:
        looks.append(reference.finished_again.resume)
    last = _from_the_last_step(evidence, reference)
    return looks if last is None else [*looks, last]


def _showing(looks: Iterable[Execution], reference: Reference, limit: float) -> list[Execution]:
    return [look for look in looks if repeats_everything(look, reference.run, limit)]


def _from_the_last_step(evidence: Evidence, reference: Reference) -> Execution | None:
    """The resume from the kill after the last step: the finished job, once more."""
    for experiment in evidence.experiments:
        point = experiment.point
        if (
            point.fault is Fault.KILL
            and max(point.step, *experiment.equal_steps, 0) == point.total_steps
            and ends_well(experiment, reference)
        ):
            return experiment.resume
    return None


def _cost(execution: Execution) -> str:
    return f"{execution.user_cpu_s:.2f} s of user CPU and {execution.bytes_written} bytes"


resume_keeps_work: Final = ResumeKeepsWork()
