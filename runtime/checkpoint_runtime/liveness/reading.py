"""What one look at a worker finds: its last beat, and whether its process is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.liveness.beat import Beat, BeatState
from checkpoint_runtime.liveness.heartbeat_file import read_beat, workers_in
from checkpoint_runtime.liveness.presence import Presence, presence_of


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at one worker."""

    workspace: Path
    worker: str
    beat: Beat | None
    problem: str | None
    """Why there is no beat, as the end of a sentence; None: there is one, or no file at all."""
    presence: Presence


def read_worker(workspace: Path, worker: str) -> Reading:
    """Look at one worker."""
    beat = read_beat(workspace, worker)
    while True:
        if isinstance(beat, str):
            return Reading(workspace, worker, None, beat, Presence.UNKNOWN)
        presence = presence_of(beat.who)
        if not presence.is_dead or beat.state is not BeatState.RUNNING:
            return Reading(workspace, worker, beat, None, presence)
        # It may have ended just now, and said so before: once it is gone it says no more.
        again = read_beat(workspace, worker)
        if again == beat:
            return Reading(workspace, worker, beat, None, presence)
        beat = again


def read_workspace(workspace: Path) -> list[Reading]:
    """Look at all workers that have beaten there."""
    return [read_worker(workspace, worker) for worker in workers_in(workspace)]
