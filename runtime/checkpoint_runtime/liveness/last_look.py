"""What one look at a worker says, without watching: for a status, not for an alarm."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_runtime.liveness.beat import BeatState
from checkpoint_runtime.liveness.presence import Presence
from checkpoint_runtime.liveness.reading import Reading, read_workspace


class WorkerState(enum.StrEnum):
    """What a look can tell."""

    RUNNING = "running"
    STOPPED = "stopped"
    """Its process is there, and stopped or frozen."""
    DEAD = "dead"
    """Its process is gone without having said that it ended."""
    UNKNOWN = "unknown"
    """It runs elsewhere, or its heartbeat cannot be read: only watching tells."""
    FINISHED = "finished"
    FAILED = "failed"
    PREEMPTED = "preempted"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """One worker that has beaten in a workspace."""

    name: str
    state: WorkerState
    why: str
    """A sentence without a full stop."""
    pid: int | None
    host: str | None
    stage: str | None
    done: int | None
    """How much of the stage it was at; ``total``: of how much."""
    total: int | None


_RUNNING: Final = {
    Presence.THERE: WorkerState.RUNNING,
    Presence.STOPPED: WorkerState.STOPPED,
    Presence.FROZEN: WorkerState.STOPPED,
    Presence.GONE: WorkerState.DEAD,
    Presence.REUSED: WorkerState.DEAD,
    Presence.REBOOTED: WorkerState.DEAD,
    Presence.UNKNOWN: WorkerState.UNKNOWN,
}
"""Of one that has not said that it ended."""


def workers_status(workspace: Path) -> tuple[WorkerStatus, ...]:
    """All that have beaten there; nothing if that cannot be read."""
    try:
        return tuple(_status_of(reading) for reading in read_workspace(workspace))
    except OSError:
        return ()


def _status_of(reading: Reading) -> WorkerStatus:
    beat = reading.beat
    if beat is None:
        state, why = WorkerState.UNKNOWN, reading.problem or "it has not beaten"
    elif beat.state is BeatState.RUNNING:
        state, why = _RUNNING[reading.presence], reading.presence.value
    else:
        state, why = WorkerState(beat.state.value), "it said so"
    return WorkerStatus(
        name=reading.worker,
        state=state,
        why=why,
        pid=None if beat is None else beat.who.pid,
        host=None if beat is None else beat.who.host,
        stage=None if beat is None else beat.stage,
        done=None if beat is None else beat.done,
        total=None if beat is None else beat.total,
    )
