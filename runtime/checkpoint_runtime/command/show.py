"""How a run and a status look: on a terminal, as plain lines, as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.progress import Progress
from checkpoint_runtime.status import StageState, StageStatus, Status

if TYPE_CHECKING:
    from rich.progress import TaskID

_MARKS = {
    StageState.DONE: "green",
    StageState.FAILED: "red",
    StageState.POISONED: "bold red",
    StageState.BEGUN: "yellow",
    StageState.PENDING: "dim",
}


@contextmanager
def shown_progress(pipeline: str) -> Iterator[Progress]:
    """On stderr: a bar where it is a terminal and rich is installed, else a line per event."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import Progress as Bars
        except ImportError:
            yield Lines(sys.stderr)
            return
        with Bars(console=Console(stderr=True)) as bars:
            yield _Bars(bars, pipeline)
        return
    yield Lines(sys.stderr)


class Lines:
    """Tells each event in a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def planned(self, stages: int, done: int) -> None:
        self._say(f"{done} of {stages} stages are done")

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        again = f" (attempt {attempt} of {attempts})" if attempt > 1 else ""
        self._say(f"{stage}: begun{again}")

    def advanced(self, stage: str, items: int, of: int) -> None:
        self._say(f"{stage}: {items} of {of}")

    def done(self, stage: str, took_s: float) -> None:
        self._say(f"{stage}: done in {took_s:.1f} s")

    def failed(self, stage: str, error: str, wait_s: float | None) -> None:
        ahead = "" if wait_s is None else f"; again in {wait_s:g} s"
        self._say(f"{stage}: failed: {error}{ahead}")

    def _say(self, text: str) -> None:
        try:
            print(text, file=self._stream, flush=True)
        except OSError:
            hush(self._stream)  # the job goes on


class _Bars:
    """A bar for the pipeline, and one for the items of a mapped stage."""

    def __init__(self, bars: object, pipeline: str) -> None:
        from rich.progress import Progress as RichProgress

        assert isinstance(bars, RichProgress)
        self._bars = bars
        self._all: TaskID = bars.add_task(pipeline, total=None)
        self._items: TaskID | None = None

    def planned(self, stages: int, done: int) -> None:
        self._bars.update(self._all, total=stages, completed=done)

    def begun(self, stage: str, attempt: int, attempts: int) -> None:
        self._remove_items()
        again = f" (attempt {attempt} of {attempts})" if attempt > 1 else ""
        self._bars.update(self._all, description=f"{stage}{again}")

    def advanced(self, stage: str, items: int, of: int) -> None:
        if self._items is None:
            self._items = self._bars.add_task(stage, total=of)
        self._bars.update(self._items, completed=items, total=of)

    def done(self, stage: str, took_s: float) -> None:
        self._remove_items()
        self._bars.advance(self._all)

    def failed(self, stage: str, error: str, wait_s: float | None) -> None:
        ahead = "" if wait_s is None else f"; again in {wait_s:g} s"
        self._bars.console.print(f"{stage}: failed: {error}{ahead}", style="red", markup=False)

    def _remove_items(self) -> None:
        if self._items is not None:
            self._bars.remove_task(self._items)
            self._items = None


def status_as_json(status: Status) -> str:
    """One JSON object; the fields of :class:`~checkpoint_runtime.status.Status`."""
    fields = dataclasses.asdict(status)
    fields["workspace"] = str(status.workspace)
    fields["finished"] = status.finished
    return json.dumps(fields, indent=2)


def print_status(status: Status) -> None:
    """A table, with colours where stdout is a terminal and rich is installed."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            _print_plain(status)
            return
        table = Table("stage", "state", "attempts", "what", title=Text(_title(status)))
        for stage in status.stages:
            state = Text(str(stage.state), style=_MARKS[stage.state])
            # Text: what stands in brackets in a name or an error is no style.
            table.add_row(Text(stage.name), state, *map(Text, _last_columns(stage)))
        Console().print(table)
        return
    _print_plain(status)


def _print_plain(status: Status) -> None:
    rows = [(stage.name, str(stage.state), *_last_columns(stage)) for stage in status.stages]
    widths = [max(len(row[column]) for row in rows) for column in range(3)] if rows else []
    lines = [_title(status)]
    for row in rows:
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{padded}  {row[3]}".rstrip())
    print("\n".join(lines))  # noqa: T201 - this is what it is for


def _title(status: Status) -> str:
    done = status.count(StageState.DONE)
    text = f"{status.pipeline}: {done} of {len(status.stages)} stages are done"
    if status.unknown:
        text += f"; recorded, and not in the pipeline now: {', '.join(status.unknown)}"
    return text if status.begun else f"{status.pipeline}: nothing has run here"


def _last_columns(stage: StageStatus) -> tuple[str, str]:
    attempts = f"{stage.attempts}/{stage.budget}" if stage.attempts else ""
    what = stage.error or ""
    if stage.state is StageState.DONE and stage.took_s is not None:
        what = f"{stage.at}, {stage.took_s:.1f} s"
    if stage.items_done:
        what = f"{stage.items_done} items done; {what}".rstrip("; ")
    return attempts, what
