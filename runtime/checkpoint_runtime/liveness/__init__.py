"""Whether a worker is alive, and whether it gets anywhere: beats, and who watches them.

``Heartbeat`` is for the worker; ``Looking``, or ``Watcher`` with eyes and a clock of one's own, for
whoever watches it from another process; ``workers_status`` for a single look. Each is loaded when
it is asked for: a worker watches nobody.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkpoint_runtime.liveness.beat import Beat, BeatState, Who
    from checkpoint_runtime.liveness.heartbeat import Heartbeat
    from checkpoint_runtime.liveness.judgement import Liveness
    from checkpoint_runtime.liveness.last_look import WorkerState, WorkerStatus, workers_status
    from checkpoint_runtime.liveness.looking import Looking
    from checkpoint_runtime.liveness.presence import Presence
    from checkpoint_runtime.liveness.reading import Reading, read_worker, read_workspace
    from checkpoint_runtime.liveness.watcher import Judgement, Watcher

__all__ = [
    "Beat",
    "BeatState",
    "Heartbeat",
    "Judgement",
    "Liveness",
    "Looking",
    "Presence",
    "Reading",
    "Watcher",
    "Who",
    "WorkerState",
    "WorkerStatus",
    "read_worker",
    "read_workspace",
    "workers_status",
]

_PLACES: Final = {
    "Beat": "beat",
    "BeatState": "beat",
    "Who": "beat",
    "Heartbeat": "heartbeat",
    "Liveness": "judgement",
    "WorkerState": "last_look",
    "WorkerStatus": "last_look",
    "workers_status": "last_look",
    "Looking": "looking",
    "Presence": "presence",
    "Reading": "reading",
    "read_worker": "reading",
    "read_workspace": "reading",
    "Judgement": "watcher",
    "Watcher": "watcher",
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{place}"), name)
