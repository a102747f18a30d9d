"""How an extraction looks while it goes on: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.extract.figures import Snapshot
from checkpoint_runtime.extract.told import Shown, summary

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_EVERY_S: Final = 5.0
_MIB: Final = 1 << 20


@contextmanager
def shown_extraction(worker: str) -> Iterator[Shown]:
    """On stderr.

    :param worker: its name.
    """
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bars
        except ImportError:
            yield Lines(sys.stderr, worker)
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rates]}", markup=False),
        )
        with Bars(*columns, console=Console(stderr=True)) as bars:
            yield _Bar(bars, worker)
        return
    yield Lines(sys.stderr, worker)


class Lines:
    """Tells each note in a line, and how far it is now and then."""

    def __init__(
        self, stream: TextIO, worker: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._worker = worker
        self._clock = clock
        self._said_s = clock()
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        self._said_s = self._clock()
        self._say(text)

    def tick(self, snapshot: Snapshot) -> None:
        if self._clock() - self._said_s >= _EVERY_S:
            self._said_s = self._clock()
            self._say(
                f"{self._worker}: {snapshot.samples} of {snapshot.samples_total} samples, "
                f"{rates(snapshot)}"
            )

    def ended(self, snapshot: Snapshot) -> None:
        self._say(f"{self._worker}: {summary(snapshot)}")

    def _say(self, text: str) -> None:
        with self._lock:
            try:
                print(text, file=self._stream, flush=True)
            except OSError:
                hush(self._stream)  # the work goes on


class _Bar:
    def __init__(self, bars: RichProgress, worker: str) -> None:
        self._bars = bars
        self._worker = worker
        self._task = bars.add_task(worker, total=None, rates="")

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def tick(self, snapshot: Snapshot) -> None:
        self._bars.update(
            self._task,
            total=snapshot.samples_total,
            completed=snapshot.samples,
            rates=rates(snapshot),
        )

    def ended(self, snapshot: Snapshot) -> None:
        self.tick(snapshot)
        self.note(f"{self._worker}: {summary(snapshot)}")


def rates(snapshot: Snapshot) -> str:
    """Where it is and how fast, in a few words."""
    eta = snapshot.eta_s
    ahead = "?" if eta is None else _time(eta)
    return (
        f"{snapshot.samples_per_s:.1f} samples/s, {snapshot.tokens_per_s:.0f} tokens/s, "
        f"{snapshot.bytes_staged / _MIB:.1f} MiB staged, {snapshot.bytes_uploaded / _MIB:.1f} MiB "
        f"stored, {snapshot.staging_bytes / _MIB:.1f} MiB waiting, {snapshot.paused_s:.1f} s "
        f"paused, {snapshot.copies_per_batch:.2f} copies per batch, {ahead} left"
    )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
