"""What resuming costs from one end of the run to the other: the curve, and the worst loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.cost import nearest_reference, scale_of
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Reference
from checkpoint_contracts.table import ends_well
from checkpoint_contracts.wording import place

_BUCKETS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What the resume from one kill point cost, as a share of the undisturbed run."""

    position: float
    cpu_ratio: float | None
    """None where CPU is not judged."""
    byte_ratio: float | None
    """None if the run wrote no bytes."""


def curve(evidence: Evidence) -> tuple[CurvePoint, ...]:
    """The cost of resumes over the run, by position; only of resumes that ended well."""
    reference = nearest_reference(evidence)
    if reference is None:
        return ()
    scale = scale_of(reference)
    points = [
        CurvePoint(
            position=experiment.point.position,
            cpu_ratio=scale.cpu_ratio(experiment.resume),
            byte_ratio=scale.byte_ratio(experiment.resume),
        )
        for experiment in evidence.experiments
        if experiment.point.fault is Fault.KILL and ends_well(experiment, reference)
    ]
    return tuple(sorted(points, key=lambda point: point.position))


def curve_notes(evidence: Evidence) -> tuple[str, ...]:
    """The curve as text, a line for each ratio that can be judged."""
    points = curve(evidence)
    curves = {
        "user CPU less start-up": [(point.position, point.cpu_ratio) for point in points],
        "bytes written": [(point.position, point.byte_ratio) for point in points],
    }
    texts = {unit: _text(pairs) for unit, pairs in curves.items()}
    return tuple(
        f"resume ÷ run ({unit}), by where the kill was: {text}"
        for unit, text in texts.items()
        if text
    )


def worst_loss(costs: Iterable[tuple[float, Experiment]], reference: Reference) -> str | None:
    """The costliest resume of those given: a sentence."""
    scale = scale_of(reference)
    ordered = sorted(costs, key=lambda cost: (-cost[0], cost[1].point.step))
    if not ordered:
        return None
    ratio, experiment = ordered[0]
    return (
        f"worst loss in the last quarter: {place(experiment.point)}, "
        f"resume repeats {ratio:.0%} of the run ({scale.unit})"
    )


def _text(pairs: Iterable[tuple[float, float | None]]) -> str:
    """The highest ratio of each tenth of the run: ``0 %: 1.00, 10 %: 0.91``."""
    highest: dict[int, float] = {}
    for position, ratio in pairs:
        if ratio is not None:
            bucket = min(int(position * _BUCKETS), _BUCKETS)
            highest[bucket] = max(ratio, highest.get(bucket, 0.0))
    return ", ".join(f"{10 * bucket} %: {ratio:.2f}" for bucket, ratio in sorted(highest.items()))
