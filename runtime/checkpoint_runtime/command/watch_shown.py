"""How a watch looks: a table on a terminal, a line per change, or JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.command.watch_options import WatchOptions
from checkpoint_runtime.liveness.judgement import Liveness
from checkpoint_runtime.liveness.watcher import Judgement

if TYPE_CHECKING:
    from rich.live import Live

_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)?")
_STYLES = {
    Liveness.WAITING: "dim",
    Liveness.ALIVE: "green",
    Liveness.STALE: "bold red",
    Liveness.STALLED: "yellow",
    Liveness.FINISHED: "blue",
    Liveness.FAILED: "red",
    Liveness.PREEMPTED: "magenta",
}


class Shown(Protocol):
    """Where a watch tells what it sees."""

    def now(self, judgements: Sequence[Judgement]) -> None:
        """This is what was seen just now."""

    def decided(self, judgements: Sequence[Judgement]) -> None:
        """This is the answer to ``--once``."""

    def note(self, text: str) -> None:
        """Something was done, or could not be."""


@contextmanager
def shown_watch(options: WatchOptions) -> Iterator[Shown]:
    """JSON lines if asked for; a table where stdout is a terminal and rich is installed."""
    if options.json:
        yield _JsonLines()
        return
    if sys.stdout.isatty() and not options.once:
        try:
            from rich.live import Live
        except ImportError:
            yield _Lines()
            return
        with Live(auto_refresh=False, transient=False) as live:
            yield _Table(live)
        return
    yield _Lines()


class _Changes:
    """Passes on what has changed since it was told last."""

    def __init__(self) -> None:
        self._told: dict[tuple[Path, str], object] = {}

    def of(self, judgements: Sequence[Judgement]) -> Iterator[Judgement]:
        for judged in judgements:
            beat = judged.beat
            at = None if beat is None else (beat.who, beat.stage)
            # How long it has been so by now is no change.
            state = judged.liveness, at, _NUMBERS.sub("", judged.why)
            key = judged.workspace, judged.worker
            if self._told.get(key) != state:
                self._told[key] = state
                yield judged


class _Lines:
    def __init__(self) -> None:
        self._changes = _Changes()

    def now(self, judgements: Sequence[Judgement]) -> None:
        for judged in self._changes.of(judgements):
            _print(f"{_name(judged)}: {judged.liveness}: {judged.why}{_at(judged)}")

    def decided(self, judgements: Sequence[Judgement]) -> None:
        for judged in judgements:
            name = "" if len(judgements) == 1 else f" {_name(judged)}"
            _print(f"{judged.liveness}{name}")

    def note(self, text: str) -> None:
        _note(text)


class _JsonLines:
    def __init__(self) -> None:
        self._changes = _Changes()

    def now(self, judgements: Sequence[Judgement]) -> None:
        for judged in self._changes.of(judgements):
            _print(json.dumps(_fields(judged)))

    def decided(self, judgements: Sequence[Judgement]) -> None:
        self.now(judgements)

    def note(self, text: str) -> None:
        _note(text)


class _Table:
    def __init__(self, live: Live) -> None:
        self._live = live

    def now(self, judgements: Sequence[Judgement]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table("worker", "state", "stage", "progress", "why")
        for judged in judgements:
            beat = judged.beat
            table.add_row(
                Text(_name(judged)),
                Text(str(judged.liveness), style=_STYLES[judged.liveness]),
                Text("" if beat is None or beat.stage is None else beat.stage),
                Text(_progress(judged)),
                Text(judged.why),
            )
        self._live.update(table, refresh=True)

    def decided(self, judgements: Sequence[Judgement]) -> None:
        self.now(judgements)

    def note(self, text: str) -> None:
        self._live.console.print(text, markup=False, highlight=False)


def _name(judged: Judgement) -> str:
    return f"{judged.workspace} {judged.worker}"


def _progress(judged: Judgement) -> str:
    beat = judged.beat
    if beat is None or beat.done is None:
        return ""
    return f"{beat.done}" if beat.total is None else f"{beat.done} of {beat.total}"


def _at(judged: Judgement) -> str:
    if judged.beat is None or judged.beat.stage is None:
        return ""
    progress = _progress(judged)
    return f" ({judged.beat.stage}{', ' if progress else ''}{progress})"


def _fields(judged: Judgement) -> dict[str, Any]:
    beat = judged.beat
    return {
        "workspace": str(judged.workspace),
        "worker": judged.worker,
        "state": str(judged.liveness),
        "why": judged.why,
        "pid": None if beat is None else beat.who.pid,
        "host": None if beat is None else beat.who.host,
        "stage": None if beat is None else beat.stage,
        "progress": None if beat is None else beat.progress,
        "done": None if beat is None else beat.done,
        "total": None if beat is None else beat.total,
        "quiet_s": round(judged.quiet_s, 3),
        "standing_s": round(judged.standing_s, 3),
    }


def _print(text: str) -> None:
    try:
        print(text, flush=True)  # noqa: T201 - this is what was asked for
    except OSError:
        hush(sys.stdout)  # nobody reads it; whoever is watched is watched all the same


def _note(text: str) -> None:
    try:
        print(f"checkpoint-runtime: {text}", file=sys.stderr, flush=True)  # noqa: T201 - as above
    except OSError:
        hush(sys.stderr)
