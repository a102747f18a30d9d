"""Runs whose staging has little room, for a while: the trials of ``no-space-in-staging``.

``0.staging-17``: with room for 17 blocks of 4 KiB; ``0.staging-17-real``: on a tmpfs of that size;
``0.staging-inodes-3``. What is sampled lies between what setup left there and the most that the
undisturbed run had there.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.no_space import REAL
from checkpoint_contracts.staged import Staged
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.conduct import Conducted, Faulty
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.phases.faults.rooms import Rise, block_rises, inode_rises
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.faults import Room, identity_of
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.timeline import State

MOST: Final = 3
"""Boundaries in blocks, unless all are wanted; and in inodes one, on a real file system one."""
_AGAIN_LEAST_S: Final = 1.5
_AGAIN_FACTOR: Final = 1.5
"""There is room again after so many times what the undisturbed run takes, and a little more."""
_VARIANT: Final = re.compile(rf"staging-(inodes-)?(\d+)({REAL})?")


class FullStaging:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control) -> None:
        assert bench.subject.staging is not None
        self._bench: Final = bench
        self._control: Final = control
        self._place: Final = bench.subject.staging
        under = b"/".join([WORKSPACE, os.fsencode(str(self._place.path))])
        self._blocks: Final = block_rises(control.recording, under)
        self._inodes: Final = inode_rises(control.recording, under)
        self._total: Final = len(control.recording.operations)

    # --- planning ---

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """``kind``: the only one that there is."""
        total = sum(len(one.boundaries) for one in (*self._blocks, *self._inodes))
        if exhaustive:
            found = [
                self._one(inodes, rise, boundary)
                for inodes, rises in ((False, self._blocks), (True, self._inodes))
                for rise in rises
                for boundary in rise.boundaries
            ]
        else:
            found = list(self._sample())
        real = self._real()
        return [*found, *real], total + len(real)

    def _sample(self) -> Iterator[PlannedFault]:
        """Of blocks the first and the last boundary of some rises: first, last and middle one."""
        rises = [self._blocks[index] for index in spread(len(self._blocks))]
        ends = [(rise, end) for rise in rises for end in (rise.enough_before, rise.enough - 1)]
        for rise, boundary in list(dict.fromkeys(ends))[:MOST]:
            yield self._one(False, rise, boundary)
        for index in spread(len(self._inodes))[:1]:
            rise = self._inodes[index]
            yield self._one(True, rise, rise.enough_before)

    def _real(self) -> list[PlannedFault]:
        """One of the sample that leaves a block: of none a tmpfs takes as many as are wanted."""
        for one in self._sample():
            action = one.action
            if isinstance(action, Room) and action.blocks:
                rise = self._rise(self._blocks, action.blocks)
                return [] if rise is None else [self._one(False, rise, action.blocks, REAL)]
        return []

    def find(self, step: int, variant: str) -> PlannedFault | None:
        known = _VARIANT.fullmatch(variant)
        if known is None or step != 0:
            return None
        inodes, boundary, ending = bool(known[1]), int(known[2]), known[3] or ""
        rise = self._rise(self._inodes if inodes else self._blocks, boundary)
        if rise is None or (ending and (inodes or not boundary)):
            return None
        return self._one(inodes, rise, boundary, ending)

    def _rise(self, rises: Sequence[Rise], boundary: int) -> Rise | None:
        return next((one for one in rises if boundary in one.boundaries), None)

    def _one(self, inodes: bool, rise: Rise, boundary: int, ending: str = "") -> PlannedFault:
        operation = rise.operation
        noun = "inode" if inodes else "block"
        amount = f"{boundary} {noun}{'' if boundary == 1 else 's'}"
        amount += " on a file system of its own" if ending else ""
        what = "the staging has no inode left" if inodes else "the staging is full"
        words = f"{what} at step {operation.step} ({describe(operation)}; {amount})"
        variant = f"staging-{'inodes-' if inodes else ''}{boundary}{ending}"
        kind = TrialKind.STAGING_FULL
        sign = f"no {noun} left in the staging at {signature(operation)}"
        return PlannedFault(
            kind=kind,
            point=point(kind, 0, variant, words, sign, self._total),
            action=Room(
                blocks=None if inodes else boundary,
                inodes=boundary if inodes else None,
                under=str(self._place.path),
                real=bool(ending),
                again_after_s=self._again_after_s,
            ),
            covers=words,
        )

    @property
    def _again_after_s(self) -> float:
        return _AGAIN_LEAST_S + _AGAIN_FACTOR * self._control.reference.run.wall_s

    # --- trying ---

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what the run left."""
        return self._conduct(planned, self._control.deadlines)

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same once more."""
        deadlines = self._control.deadlines
        return self._conduct(planned, deadlines.for_a_hang() if longer else deadlines)

    def _conduct(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        # Until there is room nothing is asked of a job that waits.
        resume_s = deadlines.resume_s + self._again_after_s
        faulty = Faulty(
            self._bench, self._control, Deadlines(resume_s=resume_s, check_s=deadlines.check_s)
        )
        made = faulty.conduct(planned)
        if made.no_room and isinstance(planned.action, Room):
            counted = dataclasses.replace(planned.action, real=False)
            made = faulty.conduct(dataclasses.replace(planned, action=counted))
        limit = self._bench.options.attempts
        trial = dataclasses.replace(made.trial, staging=self._staged(made), limit=limit)
        return trial, made.left

    def _staged(self, made: Conducted) -> Staged:
        staged = Staged(bound_bytes=self._place.bound_bytes, room_again_s=made.result.room_again_s)
        if made.result.refused is None:
            return staged
        call, path, count, within_s = made.result.refused
        usual = sum(
            (one.call, one.path) == (call, path)
            for one in map(identity_of, self._control.recording.operations)
        )
        return dataclasses.replace(
            staged,
            refused=count,
            refused_within_s=within_s,
            refused_at=f"{call} {path}",
            usual=usual,
        )
