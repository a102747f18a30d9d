"""The worker's side of its heartbeat: begun, told what the work does, ended.

The first beat and the last one are written by the worker itself, each at a place of its own in the
run. Those in between come from a process beside it (:mod:`checkpoint_runtime.liveness.beater`),
which is started with the first stage: a job shorter than the interval has just the two.

A heartbeat is of use to whoever watches, and never in the way of the job: what goes wrong with it
is said once, and the job goes on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from checkpoint_runtime.liveness import beater
from checkpoint_runtime.liveness.beat import (
    Beat,
    BeatState,
    Who,
    heartbeat_path,
    stage_text,
    who_text,
)
from checkpoint_runtime.liveness.beaters import Beaters, unwritten_words
from checkpoint_runtime.liveness.checks import checked_advance, checked_interval, checked_worker
from checkpoint_runtime.liveness.heartbeat_file import read_beat
from checkpoint_runtime.preemption import Preempted

DEFAULT_INTERVAL_S: Final = 5.0
MAIN: Final = "main"
"""The worker of a pipeline."""
_LONGEST_STAGE = 200


class Heartbeat:
    """Beats while a worker works, as a context manager.

    >>> with Heartbeat("runs/7", "loader") as heartbeat:
    ...     for page in pages:
    ...         load(page)
    ...         heartbeat.advance(total=len(pages))
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        worker: str = MAIN,
        *,
        interval_s: float = DEFAULT_INTERVAL_S,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """
        :param workspace: a directory that exists; it beats in ``heartbeats/WORKER.json`` there.
        :param worker: each process that beats there has a name of its own.
        :param interval_s: between two beats.
        :param note: told, once, what is wrong with the beats.
        :raises DefinitionError: no usable name, or no interval.
        """
        self._interval_s = checked_interval(interval_s)
        self._worker = checked_worker(worker)
        self._workspace = Path(workspace).absolute()
        self.path = heartbeat_path(self._workspace, worker)
        self._note = note or (lambda text: None)
        self._noted: set[str] = set()
        self._lock = threading.RLock()
        self._process = 0
        """That beats; 0: none does, not yet or no more."""
        self._who: Who | None = None
        self._text = b""
        """Who beats, in JSON."""
        self._number = 0
        self._beaten_s = 0.0
        """When this process itself beat last."""
        self._look_s = 0.0
        """When it is to be looked at again whether somebody beats."""
        self._beaters = Beaters(self.path, self._interval_s, self._say_once)
        self._stage = stage_text(None)
        self._progress = 0
        self._done = self._total = -1
        """Not known."""
        self._counts_items = False

    # --- what the worker says ---

    def begin(self, stage: str | None = None) -> None:
        """Beat for the first time. Once begun, this does nothing."""
        if self._who is None:
            self._stage = _stage_text(stage)
            self._find_out()
            if self._is_ours():
                self._beat(BeatState.RUNNING)

    def _find_out(self) -> None:
        """Who it is that beats, and where."""
        try:
            self._who = Who.this_process()
            self.path.parent.mkdir(exist_ok=True)
        except OSError as error:
            why = error.strerror or error
            self._say_once(f"there is no heartbeat in {self.path.parent}: {why}. The job goes on.")
            return
        self._process = self._who.pid
        self._text = who_text(self._worker, self._who, self._interval_s)

    def stage(self, name: str, *, done: int | None = None, total: int | None = None) -> None:
        """The work is at another stage now.

        :param total: of what it goes through, where that is known; ``done``: of that, already.
        """
        if self._is_ours():
            with self._lock:
                self._stage = _stage_text(name)
                self._done = -1 if done is None else done
                self._total = -1 if total is None else total
                self._counts_items = total is not None
                self._beaters.stage(self._stage)
                self._count()
            self._look_after()

    def advance(self, by: int = 1, total: int | None = None) -> None:
        """The work has got on, by so much. Nothing else counts as progress.

        Costs a few microseconds. In a child that the worker forked it does nothing.

        :param total: how much there is in all, of what is counted in this stage.
        :raises DefinitionError: no number from 0 on.
        """
        checked_advance(by, total)
        if self._is_ours():
            with self._lock:
                self._progress += by
                if not self._counts_items:
                    self._done = max(self._done, 0) + by
                    self._total = self._total if total is None else total
                self._count()
            self._look_after_a_while()

    def item_done(self, done: int, total: int) -> None:
        """So many items of a stage are done, one more than before."""
        if self._is_ours():
            with self._lock:
                self._progress += 1
                self._done, self._total = done, total
                self._count()
            self._look_after_a_while()

    def stage_done(self) -> None:
        """The stage that is under way is done."""
        if self._is_ours():
            with self._lock:
                self._progress += 1
                self._count()

    def end(self, state: BeatState) -> None:
        """Beat for the last time, and say how it ended.

        A heartbeat that was never begun does so only where a file would tell something else.
        """
        if self._who is None and self._tells_otherwise(state):
            self._find_out()
        if not self._is_ours():
            return
        with self._lock:
            self._process = 0
            self._number = self._beaters.end(self._number)
            self._beat(state)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """It ends when this does, and says of what."""
        try:
            yield
        except BaseException as error:
            self.end(_state_after(error))
            raise
        self.end(BeatState.FINISHED)

    def __enter__(self) -> Self:
        self.begin()
        self._look_after()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(_state_after(error))

    def _tells_otherwise(self, state: BeatState) -> bool:
        if state is BeatState.FINISHED and not self.path.exists():
            return False
        found = read_beat(self._workspace, self._worker)
        return not isinstance(found, Beat) or found.state is not state

    # --- beats ---

    def _is_ours(self) -> bool:
        # A child that the worker forked has a copy of this: it is no worker.
        return self._process == os.getpid()

    def _count(self) -> None:
        self._beaters.count(self._progress, self._done, self._total)

    def _beat(self, state: BeatState) -> None:
        """A beat by the worker itself."""
        self._beaten_s = time.monotonic()
        counts = [self._progress, self._done, self._total]
        content = beater.line_of(self._text, self._number + 1, state, counts, self._stage)
        try:
            beater.replace(os.fspath(self.path), content)
            self._number += 1
        except OSError as error:
            self._say_once(unwritten_words(self.path, error.errno))

    def _look_after_a_while(self) -> None:
        if time.monotonic() >= self._look_s:
            self._look_after()

    def _look_after(self) -> None:
        """See to it that somebody beats."""
        with self._lock:
            if not self._process or self._who is None:
                return
            now_s = time.monotonic()
            self._look_s = now_s + self._interval_s
            if self._beaters.look_after(
                self._who,
                self._text,
                self._stage,
                (self._progress, self._done, self._total),
                number=self._number,
                since_s=now_s - self._beaten_s,
            ):
                return
            if now_s >= self._beaten_s + self._interval_s:
                self._number = self._beaters.number(self._number)
                self._beat(BeatState.RUNNING)

    def _say_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)


def _stage_text(name: str | None) -> bytes:
    return stage_text(name if name is None else name[:_LONGEST_STAGE])


def _state_after(error: BaseException | None) -> BeatState:
    if error is None:
        return BeatState.FINISHED
    ended = isinstance(error, Preempted | KeyboardInterrupt)
    return BeatState.PREEMPTED if ended else BeatState.FAILED
