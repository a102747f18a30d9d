"""Resumes from kills after which the staging and TMPDIR were emptied: ``markers-outlive-staging``.

``41.staging-gone``: killed after the operation 41. Only the content goes: the directories stay.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Final

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.staged import Staged
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.phases.staging.markers import Markers
from pytest_checkpoint.phases.store.reading import requests_of
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.operations import TEMPORARY, WORKSPACE
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import Directory, Image, directory_at

MOST: Final = 5
"""Kill states, unless all are wanted."""
_LOOKED_AT: Final = 100
"""Kill states of which it is looked whether something would go, or has been done."""


class GoneStaging:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        assert bench.subject.staging is not None
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._bound_bytes: Final = bench.subject.staging.bound_bytes
        self._staging: Final = b"/".join([WORKSPACE, os.fsencode(str(bench.subject.staging.path))])
        self._markers: Final = Markers(bench.subject, control.reference, self._staging)

    # --- planning ---

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """``kind``: the only one that there is."""
        steps = self._steps()
        if exhaustive:
            return [self._at(step) for step in steps], len(steps)
        looked_at = [steps[index] for index in spread(len(steps))[:_LOOKED_AT]]
        telling = sorted(filter(self._is_telling, looked_at)) or sorted(looked_at)
        wanted = [telling[index] for index in spread(len(telling))[:MOST]]
        return [self._at(step) for step in wanted], len(steps)

    def _steps(self) -> Sequence[int]:
        """After each of them a kill leaves another state."""
        timeline = self._source.timeline
        first = {timeline.key(step): step for step in range(timeline.steps, -1, -1)}
        return sorted(first.values())

    def _is_telling(self, step: int) -> bool:
        """Whether something lies in the staging, or has been done."""
        state = self._source.timeline.after(step)
        node = directory_at(state.image, self._staging)
        entries = () if node is None else getattr(state.image.nodes[node], "entries", ())
        done = any(line.startswith("done ") for line in lines_of(state.events))
        return bool(entries) or done or bool(self._markers.standing(state))

    def find(self, step: int, variant: str) -> PlannedFault | None:
        known = variant == TrialKind.STAGING_GONE.value and step <= self._source.timeline.steps
        return self._at(step) if known else None

    def _at(self, step: int) -> PlannedFault:
        kind = TrialKind.STAGING_GONE
        where = "before the first operation"
        if step:
            where = f"after step {step} ({describe(self._source.operations[step - 1])})"
        words = f"killed {where}, and the staging and TMPDIR are empty then"
        total = self._source.timeline.steps
        return PlannedFault(
            kind=kind,
            point=point(kind, step, kind.value, words, "the staging has gone", total),
            action=None,
            covers=words,
        )

    # --- trying ---

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and the state that was resumed from."""
        return self._conduct(planned, self._control.deadlines)

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same once more."""
        deadlines = self._control.deadlines
        return self._conduct(planned, deadlines.for_a_hang() if longer else deadlines)

    def _conduct(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        bench = self._bench
        killed = self._source.state(kill_state(planned.point.step))
        left = dataclasses.replace(killed, image=emptied(killed.image, (self._staging, TEMPORARY)))
        bench.put(left)
        leg = self._resume(left, deadlines)
        after = bench.state()
        standing = self._markers.standing(left)
        staged = Staged(
            bound_bytes=self._bound_bytes,
            marked=self._markers.marked(left),
            markers_in_it=self._markers.in_staging(killed),
            markers_removed=tuple(sorted(standing - self._markers.standing(after))),
        )
        check = bench.check(deadlines.check_s) if leg.execution.succeeded else None
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(left.events),
            legs=(leg,),
            check=check,
            staging=staged,
        )
        return trial, left

    def _resume(self, left: State, deadlines: Deadlines) -> Leg:
        """As often as the subject says it may take."""
        bench = self._bench
        execution = bench.resume(deadlines.resume_s)
        asked = requests_of(bench.asked)
        for _ in range(bench.subject.resume_attempts - 1):
            if execution.succeeded or not execution.usable:
                break
            execution = bench.resume(deadlines.resume_s)
            asked += requests_of(bench.asked)
        return Leg(
            command=Command.RESUME,
            execution=execution,
            events=bench.new_events(left.events),
            effects=bench.new_effects(left.effects),
            requests=asked,
        )


def emptied(image: Image, paths: Iterable[bytes]) -> Image:
    """The same with nothing in the directories of these paths."""
    nodes = dict(image.nodes)
    for path in paths:
        node = directory_at(image, path)
        directory = None if node is None else nodes[node]
        if node is not None and isinstance(directory, Directory):
            nodes[node] = dataclasses.replace(directory, entries={})
    return Image(nodes)
