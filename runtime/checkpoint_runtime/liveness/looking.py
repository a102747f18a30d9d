"""Looks at the workers of some workspaces again and again, and has a watcher judge them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from checkpoint_runtime.liveness.heartbeat import MAIN
from checkpoint_runtime.liveness.heartbeat_file import workers_in
from checkpoint_runtime.liveness.presence import Presence
from checkpoint_runtime.liveness.reading import Reading, read_worker
from checkpoint_runtime.liveness.watcher import DEFAULT_STALE_AFTER_S, Judgement, Watcher

_LOOKS = 10
"""In the shorter of the two bounds."""
_SHORTEST_S, _LONGEST_S = 0.02, 1.0
_GAPS = 3
"""So many intervals between two looks are taken for a slow machine; more, for a watcher that was
itself stopped."""


class Looking:
    """A watcher with eyes and a clock.

    >>> looking = Looking([Path("runs/7")])
    >>> while all(one.liveness is Liveness.ALIVE for one in looking.look()):
    ...     wait(looking.every_s)
    """

    def __init__(
        self,
        workspaces: Sequence[Path],
        *,
        stale_after_s: float = DEFAULT_STALE_AFTER_S,
        stalled_after_s: float | None = None,
        start_within_s: float | None = None,
    ) -> None:
        """Takes what :class:`Watcher` takes, and raises what that does."""
        bounds_s = [stale_after_s] if stalled_after_s is None else [stale_after_s, stalled_after_s]
        self.every_s = min(max(min(bounds_s) / _LOOKS, _SHORTEST_S), _LONGEST_S)
        """How long to wait between two looks."""
        self.watcher = Watcher(
            stale_after_s=stale_after_s,
            stalled_after_s=stalled_after_s,
            start_within_s=start_within_s,
            longest_gap_s=_GAPS * self.every_s,
        )
        self._workers: dict[Path, set[str]] = {workspace: set() for workspace in workspaces}

    def look(self) -> list[Judgement]:
        """Each worker, in the order of the workspaces and of their names."""
        readings = [reading for workspace in self._workers for reading in self._readings(workspace)]
        return self.watcher.observe(readings, time.monotonic())

    def _readings(self, workspace: Path) -> list[Reading]:
        known = self._workers[workspace]
        try:
            known.update(workers_in(workspace))
        except OSError as error:
            # Those that are known are looked at all the same: none of them is left out.
            if not known:
                problem = f"{workspace} cannot be looked into: {error.strerror}"
                return [_unread(workspace, problem)]
        if not known:
            return [_unread(workspace, None)]
        return [read_worker(workspace, worker) for worker in sorted(known)]


def _unread(workspace: Path, problem: str | None) -> Reading:
    return Reading(workspace, MAIN, None, problem, Presence.UNKNOWN)
