"""A run of a pipeline that beats: what its progress is told, its heartbeat is told too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from checkpoint_runtime.liveness.checks import checked_advance
from checkpoint_runtime.liveness.heartbeat import MAIN, Heartbeat
from checkpoint_runtime.liveness.heartbeat_file import remove_heartbeat
from checkpoint_runtime.progress import FailedAttempt, Progress

Advance = Callable[[int, int | None], None]
"""What a stage has got on by, and what there is in all."""


@contextmanager
def beating(
    workspace: Path, interval_s: float | None, progress: Progress
) -> Iterator[tuple[Progress, Advance]]:
    """While this is open the run beats.

    :param interval_s: None: it does not, and no beat of an earlier run is left to mislead anybody.
    :returns: what is to be told instead of the progress, and by the stages themselves.
    """
    if interval_s is None:
        remove_heartbeat(workspace, MAIN)
        yield progress, checked_advance
        return
    heartbeat = Heartbeat(workspace, interval_s=interval_s, note=progress.note)
    with heartbeat.ending():
        yield _Beating(progress, heartbeat), heartbeat.advance


class _Beating:
    def __init__(self, progress: Progress, heartbeat: Heartbeat) -> None:
        self._progress = progress
        self._heartbeat = heartbeat

    def note(self, text: str) -> None:
        self._progress.note(text)

    def planned(self, stages: int, done: int) -> None:
        self._progress.planned(stages, done)

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        # Not before: a run that finds nothing to do changes nothing.
        self._heartbeat.begin(stage)
        self._heartbeat.stage(stage)
        self._progress.begun(stage, attempt, attempts)

    def going_through(self, stage: str, done: int, of: int) -> None:
        self._heartbeat.stage(stage, done=done, total=of)
        self._progress.going_through(stage, done, of)

    def advanced(self, stage: str, items: int, of: int) -> None:
        self._heartbeat.item_done(items, of)
        self._progress.advanced(stage, items, of)

    def done(self, stage: str, took_s: float) -> None:
        self._heartbeat.stage_done()
        self._progress.done(stage, took_s)

    def failed(self, attempt: FailedAttempt) -> None:
        self._progress.failed(attempt)

    def finished(self, stages: int, done: int) -> None:
        self._progress.finished(stages, done)
