"""How a run looks while it goes on: bars on a terminal, else a line per event."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.progress import FailedAttempt, Progress
from checkpoint_runtime.texts import told

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


@contextmanager
def shown_progress(pipeline: str) -> Iterator[Progress]:
    """On stderr: a bar where it is a terminal and rich is installed, else a line per event."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars
        except ImportError:
            yield Lines(sys.stderr)
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Bars(*columns, console=Console(stderr=True)) as bars:
            yield _Bars(bars, pipeline)
        return
    yield Lines(sys.stderr)


class Lines:
    """Tells each event in a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        self._say(text)

    def planned(self, stages: int, done: int) -> None:
        self._say(f"{done} of {stages} stages are done")

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        self._say(f"{stage}: begun{_again(attempt, attempts)}")

    def going_through(self, stage: str, done: int, of: int) -> None:
        if done:
            self._say(f"{stage}: {done} of {of} items were done")

    def advanced(self, stage: str, items: int, of: int) -> None:
        self._say(f"{stage}: {items} of {of} items")

    def done(self, stage: str, took_s: float) -> None:
        self._say(f"{stage}: done in {took_s:.1f} s")

    def failed(self, attempt: FailedAttempt) -> None:
        if attempt.traceback:
            self._say(attempt.traceback)
        self._say(_failure(attempt))

    def finished(self, stages: int, done: int) -> None:
        self._say(_end(stages, done))

    def _say(self, text: str) -> None:
        try:
            print(text, file=self._stream, flush=True)
        except OSError:
            hush(self._stream)  # the job goes on


class _Bars:
    """A bar for the pipeline, and one for the items of a mapped stage."""

    def __init__(self, bars: RichProgress, pipeline: str) -> None:
        self._bars = bars
        self._pipeline = pipeline
        self._all: TaskID = bars.add_task(f"{pipeline}: stages", total=None)
        self._items: TaskID | None = None

    def note(self, text: str) -> None:
        self._print(text)

    def planned(self, stages: int, done: int) -> None:
        self._bars.update(self._all, total=stages, completed=done)

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        self._remove_items()
        self._describe(f"{stage}{_again(attempt, attempts)}")

    def going_through(self, stage: str, done: int, of: int) -> None:
        self._remove_items()
        self._items = self._bars.add_task(f"{stage}: items", total=of, completed=done)

    def advanced(self, stage: str, items: int, of: int) -> None:
        if self._items is not None:
            self._bars.update(self._items, completed=items, total=of)

    def done(self, stage: str, took_s: float) -> None:
        self._remove_items()
        self._describe("stages")
        self._bars.advance(self._all)

    def failed(self, attempt: FailedAttempt) -> None:
        if attempt.traceback:
            self._print(attempt.traceback)
        self._print(_failure(attempt), style="red")

    def finished(self, stages: int, done: int) -> None:
        self._print(_end(stages, done))

    def _describe(self, what: str) -> None:
        self._bars.update(self._all, description=f"{self._pipeline}: {what}")

    def _print(self, text: str, style: str | None = None) -> None:
        self._bars.console.print(text, style=style, markup=False, highlight=False)

    def _remove_items(self) -> None:
        if self._items is not None:
            self._bars.remove_task(self._items)
            self._items = None


def _again(attempt: int, attempts: int) -> str:
    return f" (attempt {attempt} of {attempts})" if attempt > 1 else ""


def _failure(attempt: FailedAttempt) -> str:
    ahead = "" if attempt.wait_s is None else f"; again in {attempt.wait_s:g} s"
    what = told(attempt.error, attempt.item, attempt.where)
    return f"{attempt.stage}: failed: {what}{ahead}"


def _end(stages: int, done: int) -> str:
    if not done:
        return "every stage was done already: nothing was run"
    return f"every stage is done, {done} of {stages} in this run"
