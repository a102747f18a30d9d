"""One worker of an extraction: what its shard has left is extracted, staged, stored and marked.

For each batch: room in the staging is taken → the forward pass → the file is staged → it is in the
store, and what the store holds was verified → the marker is durable → ``done`` is acknowledged →
the staged file goes, and its room with it. A kill anywhere in this loses what does not lie whole in
the staging, and nothing else: that is extracted again, and gets the same key. What lies there is
taken up by the next start, before anything is extracted.

So a kill costs as many batches as there are buffers for, at most: with one the next forward pass
begins when the file of the one before is staged; with two, for a GPU, its copy and its staging go
on beside the next forward pass.

Three kinds of threads, so that no step waits for another's: the main one extracts, one stages, a
few upload. What goes wrong in any of them ends all of them, and is raised in the main one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol

from checkpoint_runtime.events import EventFile
from checkpoint_runtime.extract.crew import Crew
from checkpoint_runtime.extract.data.digests import outline_of
from checkpoint_runtime.extract.errors import NotFiniteError
from checkpoint_runtime.extract.figures import Figures, Snapshot
from checkpoint_runtime.extract.manner import Manner
from checkpoint_runtime.extract.parts import (
    Batch,
    Destination,
    Marker,
    Markers,
    Outline,
    Payload,
    Whole,
)
from checkpoint_runtime.extract.staging.folder import final_name
from checkpoint_runtime.extract.staging.leftovers import Staged
from checkpoint_runtime.extract.staging.stage import Place, Stage
from checkpoint_runtime.extract.trouble import Trouble
from checkpoint_runtime.preemption import Preempted, Preemption
from checkpoint_runtime.texts import counted

_LOOKS_EVERY_S: Final = 0.1
"""How late a signal, or an error of another thread, is seen to; and how often figures are told."""
_ENDS_WITHIN_S: Final = 0.3
"""What a thread that may begin nothing more has for the step that it is in."""
_EXTRACTS_WITHIN_S: Final = 3600.0
"""A payload whose buffer is not given back by then never will be."""
_SHOWN_IDS: Final = 5


class Extracting(Protocol):
    """What turns a batch into a file in memory."""

    @property
    def copies(self) -> int:
        """From the device to the host, so far."""
        ...

    def bound_bytes(self, batch: Batch) -> int:
        """What its file takes at most."""
        ...

    def extract(self, batch: Batch, *, wait_s: float) -> Payload: ...


class Told(Protocol):
    """Whoever watches a worker from within its process."""

    def note(self, text: str) -> None:
        """By any thread."""
        ...

    def tick(self, snapshot: Snapshot) -> None:
        """By the main thread, several times a second unless a forward pass takes longer."""
        ...

    def marked(self, what: str, samples: int, of: int) -> None:
        """One more batch is stored and marked: so many samples of this run by now. By any thread.

        :param what: the batch, in words.
        """
        ...

    def ended(self, snapshot: Snapshot) -> None:
        """This is how it ended, well or not."""
        ...


@dataclass(frozen=True, slots=True)
class _Work:
    """One batch on its way."""

    batch: Batch
    place: Place
    payload: Payload


class Worker:
    """Does what is left of one shard. Made for one run."""

    def __init__(
        self,
        *,
        extractor: Extracting,
        stage: Stage,
        destination: Destination,
        markers: Markers,
        figures: Figures,
        events: EventFile,
        preemption: Preemption,
        told: Told,
        trouble: Trouble,
        manner: Manner,
        buffers: int = 1,
    ) -> None:
        """
        :param buffers: of the extractor: one is filled while what is in the others is staged, or
            waits for that.
        """
        self._extractor = extractor
        self._stage = stage
        stage.room.check = self.check
        self._destination = destination
        self._markers = markers
        self._figures = figures
        self._events = events
        self._preemption = preemption
        self._told = told
        self._trouble = trouble
        self._manner = manner
        self._buffers = buffers
        threads = manner.uploads
        self._stagers = Crew[_Work]("stage", min(threads, 1), self._staged, trouble)
        self._uploaders = Crew[Staged]("upload", threads, self._stored, trouble)
        self.left_behind = False
        """Whether a thread is in the midst of something, a request, that nothing can end."""

    def run(self, batches: Iterable[Batch], leftovers: Iterable[Staged] = ()) -> None:
        """Do these.

        :param leftovers: files that an earlier start has staged: they come first, and their
            batches are not extracted.
        :raises ExtractError: what the first thread met that met anything; what is marked stays.
        :raises Preempted, KeyboardInterrupt: a signal came; the same.
        """
        try:
            taken_up = self._take_up(leftovers)
            for batch in batches:
                if batch.key in taken_up:
                    continue
                self.check()
                self._wait_until(lambda: self._stagers.outstanding < self._buffers)
                self._extract(batch)
            self._wait_until(self._is_idle)
        except (Preempted, KeyboardInterrupt):
            self._use_grace()
            raise
        finally:
            self._trouble.end()
            ends_s = time.monotonic() + _ENDS_WITHIN_S
            for crew in (self._stagers, self._uploaders):
                if not crew.dismiss(max(0.0, ends_s - time.monotonic())):
                    self.left_behind = True
            self._told.ended(self.snapshot())

    def check(self) -> None:
        """Raise what ends the work: an error of any thread or, in the main one, a signal."""
        self._trouble.check()
        if _in_main_thread():
            with self._preemption.heeded():
                pass
            self._told.tick(self.snapshot())

    def snapshot(self) -> Snapshot:
        room = self._stage.room
        return self._figures.snapshot(
            paused_s=room.paused_s,
            pauses=room.pauses,
            staging_bytes=room.held_bytes,
            staging_peak_bytes=room.peak_bytes,
        )

    # --- one batch ---

    def _take_up(self, leftovers: Iterable[Staged]) -> set[str]:
        """The keys of their batches."""
        keys: set[str] = set()
        size_bytes = 0
        for staged in leftovers:
            self.check()
            self._figures.taken_up()
            keys.add(staged.outline.key)
            size_bytes += staged.whole.size
            self._uploaders.hand(staged)
        if keys:
            self._told.note(
                f"{counted(len(keys), 'staged file')} of an earlier start taken up: "
                f"{size_bytes:,} bytes that need no forward pass"
            )
        return keys

    def _extract(self, batch: Batch) -> None:
        place = self._stage.reserve(batch.key, self._extractor.bound_bytes(batch))
        self._events.start(name_of(batch))
        with self._preemption.heeded():
            payload = self._extractor.extract(batch, wait_s=_EXTRACTS_WITHIN_S)
        self._figures.extracted(self._extractor.copies)
        self._stagers.hand(_Work(batch, place, payload))

    def _staged(self, work: _Work) -> None:
        batch, payload = work.batch, work.payload
        try:
            if payload.not_finite:
                self._tell_not_finite(batch, payload.not_finite)
            content = payload.content
            whole = Whole(final_name(batch.key), len(content), payload.crc64nvme)
            work.place.write(content)
        finally:
            payload.release()
        self._figures.staged(whole.size)
        self._uploaders.hand(Staged(outline_of(batch), work.place, whole))

    def _tell_not_finite(self, batch: Batch, ids: tuple[str, ...]) -> None:
        shown = ", ".join(ids[:_SHOWN_IDS]) + (", …" if len(ids) > _SHOWN_IDS else "")
        found = (
            f"the hidden states of {counted(len(ids), 'sample')} hold a NaN or an infinity: {shown}"
        )
        if not self._manner.keeps_not_finite:
            raise NotFiniteError(
                f"{found}. Nothing of {name_of(batch)} was stored. See to the model or to these "
                "samples (fp16 overflows where bf16 does not), or keep such values as they are "
                "(--on-nan keep)."
            )
        self._told.note(f"{found}; kept ({name_of(batch)})")

    def _stored(self, staged: Staged) -> None:
        outline, whole = staged.outline, staged.whole
        with self._heeded():
            held = self._destination.put(staged.place.path, whole)
        self._markers.add(Marker(held, outline.ids, outline.digests))
        self._events.done(name_of(outline))
        staged.place.remove()
        self._figures.stored(
            samples=len(outline.ids), tokens=outline.token_count, size_bytes=whole.size
        )
        what = f"{name_of(outline)}: {counted(len(outline.ids), 'sample')}, {whole.size:,} bytes"
        self._told.marked(what, self._figures.samples, self._figures.samples_total)

    # --- waits ---

    def _heeded(self) -> AbstractContextManager[None]:
        return self._preemption.heeded() if _in_main_thread() else nullcontext()

    def _is_idle(self) -> bool:
        return not self._stagers.outstanding and not self._uploaders.outstanding

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        while True:
            self.check()
            with self._trouble.changed:
                if holds():
                    # What ended it may be what made it idle.
                    self._trouble.check()
                    return
                self._trouble.changed.wait(_LOOKS_EVERY_S)

    def _use_grace(self) -> None:
        """What is extracted already may get into the store; nothing more is extracted."""
        if not self._manner.grace_s or self._is_idle():
            return
        self._told.note(
            f"a signal: what is extracted has {self._manner.grace_s:g} s to get into the store; "
            "another one ends this at once"
        )
        ends_s = time.monotonic() + self._manner.grace_s
        with self._trouble.changed:
            self._trouble.changed.wait_for(
                lambda: self._is_idle() or self._trouble.stop.is_set(),
                max(0.0, ends_s - time.monotonic()),
            )


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def name_of(batch: Batch | Outline) -> str:
    """How events and the log call a batch: the same in every run of the same plan."""
    return f"batch-{batch.number}-{batch.key[:12]}"
