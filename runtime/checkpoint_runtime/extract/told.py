"""Whom a worker tells how it gets on: the log, the heartbeat, the progress file, the terminal."""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from checkpoint_runtime.extract.figures import Snapshot
from checkpoint_runtime.extract.staging.folder import PROGRESS_NAME
from checkpoint_runtime.liveness import beater
from checkpoint_runtime.liveness.heartbeat import Heartbeat
from checkpoint_runtime.texts import counted, printable

LOGS_NAME: Final = "logs"
_EVERY_S: Final = 1.0
"""Between two progress files."""


class Shown(Protocol):
    """What a person sees."""

    def note(self, text: str) -> None: ...

    def tick(self, snapshot: Snapshot) -> None: ...

    def ended(self, snapshot: Snapshot) -> None: ...


class LogFile:
    """``STATE/logs/SHARD.log``: a line per note, with its time. It is appended to, never read.

    What goes wrong with it is told once, and the work goes on.
    """

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self.path = path
        self._complain: Callable[[str], None] | None = complain

    def add(self, text: str) -> None:
        """By any thread: a line is one write."""
        if self._complain is None:
            return
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        lines = "".join(f"{now} {printable(line)}\n" for line in text.splitlines())
        try:
            if not self.path.parent.is_dir():  # not at every line: it would be a call more
                self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o644)
            try:
                os.write(descriptor, lines.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            complain, self._complain = self._complain, None
            complain(f"the log {self.path} cannot be written: {error.strerror}. The work goes on.")


class ProgressFile:
    """``progress.json`` beside the staged files, replaced whole, never synced: for people."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """
        :param folder: in the staging, which may be full: then the file stays as it was.
        """
        self._path = os.fspath(folder / PROGRESS_NAME)
        self._clock = clock
        self._written_s = clock()

    def tick(self, snapshot: Snapshot) -> None:
        if self._clock() - self._written_s >= _EVERY_S:
            self.write(snapshot)

    def write(self, snapshot: Snapshot) -> None:
        self._written_s = self._clock()
        try:
            beater.replace(self._path, json.dumps(snapshot.as_json()).encode() + b"\n")
        except OSError:
            return  # the staging is full, or gone: the log and the terminal tell the same


class All:
    """Tells them all."""

    def __init__(
        self, shown: Shown, log: LogFile, progress: ProgressFile, heartbeat: Heartbeat | None
    ) -> None:
        self._shown = shown
        self._log = log
        self._progress = progress
        self._heartbeat = heartbeat

    def note(self, text: str) -> None:
        self._log.add(text)
        self._shown.note(text)

    def tick(self, snapshot: Snapshot) -> None:
        self._progress.tick(snapshot)
        self._shown.tick(snapshot)

    def marked(self, what: str, samples: int, of: int) -> None:
        self._log.add(f"{what}; {samples} of {of} samples")
        if self._heartbeat is not None:
            self._heartbeat.item_done(samples, of)

    def ended(self, snapshot: Snapshot) -> None:
        self._progress.write(snapshot)
        self._log.add(summary(snapshot))
        self._shown.ended(snapshot)


def summary(snapshot: Snapshot) -> str:
    """What a run did, in one line."""
    return (
        f"{snapshot.samples} of {snapshot.samples_total} samples ({snapshot.batches} of "
        f"{snapshot.batches_total} batches, {snapshot.batches_taken_up} of them taken up from the "
        f"staging) in {snapshot.elapsed_s:.1f} s: "
        f"{snapshot.samples_per_s:.1f} samples/s, {snapshot.tokens_per_s:.0f} tokens/s, "
        f"{snapshot.bytes_staged:,} bytes staged (at most {snapshot.staging_peak_bytes:,} at "
        f"once), {snapshot.bytes_uploaded:,} stored, {counted(snapshot.pauses, 'pause')} of "
        f"{snapshot.paused_s:.1f} s, {snapshot.copies_per_batch:.2f} copies per batch"
    )
