"""What is looked at around a resume besides its events, where a contract asks for it.

The handoff before it; afterwards, and before the check, which may write, the outputs. Both are held
against the undisturbed run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from checkpoint_contracts import wants_handoff, wants_outputs
from checkpoint_contracts.evidence import (
    CrashPoint,
    Damage,
    Execution,
    Experiment,
    Fault,
    Handoff,
    OtherRun,
    OutputChange,
    Reference,
)
from checkpoint_contracts.stages import stage_names
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.changes import change, outputs_of, stamp
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.handoff import read_handoff
from pytest_checkpoint.states.damage import Damages
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.source import Further
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import File, Image, Node


class Looks:
    """For one subject, and what it left when it was not disturbed."""

    def __init__(
        self, bench: Bench, reference: Reference, end: State, damages: Further | None = None
    ) -> None:
        self._damages: Final = damages
        self._bench: Final = bench
        self._reference: Final = reference
        self._stages: Final = stage_names(reference.events)
        self._end: Final = _outputs(bench, end.image)

    def handoff(self, where: CrashPoint, state: State, deadlines: Deadlines) -> Handoff | None:
        """What it says at a crash; the slot holds the state, and does so afterwards."""
        bench = self._bench
        if bench.subject.handoff is None or not wants_handoff(where, bench.options.contracts):
            return None
        # A command's own time is known to nobody: it gets what is enough to call a resume hung.
        seen = read_handoff(bench, self._stages, deadlines.for_a_hang().check_s)
        if not isinstance(bench.subject.handoff, PurePosixPath):
            bench.put(state)
        return seen

    def damage(self, where: CrashPoint, resume: Execution) -> Damage | None:
        """What had been damaged, and after a refusal whether it is still there; else None."""
        if where.fault is not Fault.DAMAGE:
            return None
        assert isinstance(self._damages, Damages)  # else there would be no such state
        crash = parse(where.id)
        told = self._damages.told(crash)
        if resume.exit_code in (None, 0):
            return told
        kept = self._damages.is_kept(crash, self._bench.look())
        return dataclasses.replace(told, kept=kept)

    def output_changes(
        self, experiment: Experiment, crash: State
    ) -> tuple[OutputChange, ...] | None:
        """How the outputs differ from the undisturbed run's now, after the resume.

        None if no contract asks, or if it is not known what two undisturbed runs have in common.
        """
        bench, other = self._bench, self._reference.other_run
        if not bench.subject.outputs or other is None:
            return None
        if not wants_outputs(experiment, self._reference, bench.options.contracts):
            return None
        left = _outputs(bench, crash.image)
        return tuple(_changes(self._end, _outputs(bench, bench.look()), left, other))


def outputs_stamped(bench: Bench, image: Image) -> dict[str, str]:
    """Path → a text that is the same for the same kind, mode and bytes."""
    return {path: stamp(node) for path, node in _outputs(bench, image).items()}


def other_run(
    bench: Bench, events: tuple[str, ...], first: Mapping[str, str], second: Image
) -> OtherRun:
    """The first undisturbed run held against the recorded one, which ended with ``second``.

    ``first``: its outputs, :func:`stamped <outputs_stamped>`.
    """
    recorded = outputs_stamped(bench, second)
    both = first.keys() & recorded.keys()
    return OtherRun(
        events=events,
        varying_outputs=tuple(sorted(path for path in both if first[path] != recorded[path])),
        varying_names=tuple(sorted(first.keys() ^ recorded.keys())),
    )


def _outputs(bench: Bench, image: Image) -> dict[str, Node]:
    return outputs_of(image, bench.subject.outputs, bench.subject.ephemeral)


def _changes(
    end: Mapping[str, Node], now: Mapping[str, Node], left: Mapping[str, Node], other: OtherRun
) -> Iterator[OutputChange]:
    """``left``: by the crash. What of it the undisturbed run did not leave is litter."""
    varying = {*other.varying_outputs, *other.varying_names}
    for path in sorted(end.keys() | now.keys()):
        if path in varying:
            continue
        if path not in end and (path in left or other.varying_names):
            continue
        before, after = end.get(path), now.get(path)
        text = change(before, after)
        if text is not None:
            yield OutputChange(
                path=path,
                change=text,
                digest=stamp(after) if after is not None else "",
                same_size=isinstance(before, File)
                and isinstance(after, File)
                and before.content.size == after.content.size,
            )
