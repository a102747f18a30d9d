"""Stand-ins for the model, the store and the markers: no torch, no network, no disk."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from checkpoint_runtime.extract.figures import Snapshot
from checkpoint_runtime.extract.parts import Batch, Held, Marker, Whole

DEADLINE_S = 20.0


def batches(count: int, *, samples: int = 2) -> list[Batch]:
    """Of so many samples with two tokens each."""
    return [
        Batch(
            number=number,
            key=f"{number:040x}",
            ids=tuple(f"s{number}-{place}" for place in range(samples)),
            tokens=tuple((number, place) for place in range(samples)),
        )
        for number in range(count)
    ]


def content_of(batch: Batch, size: int) -> bytes:
    """What a batch's file holds."""
    line = f"{batch.key}\n".encode()
    return (line * (size // len(line) + 1))[:size]


class FakePayload:
    """A file in memory."""

    def __init__(
        self, batch: Batch, data: bytes, checksum: int, not_finite: tuple[str, ...]
    ) -> None:
        self.batch = batch
        self.content = memoryview(data)
        self.crc64nvme = checksum
        self.not_finite = not_finite
        self.released = 0

    def release(self) -> None:
        self.released += 1


class FakeExtractor:
    """Each batch becomes a file of so many bytes."""

    def __init__(self, size: int = 1000, *, not_finite: Mapping[int, tuple[str, ...]] = {}) -> None:
        self.size = size
        self.copies = 0
        self.extracted: list[int] = []
        self.payloads: list[FakePayload] = []
        self.before: Callable[[Batch], None] = lambda batch: None
        self.made: Callable[[Batch], bytes] = lambda batch: content_of(batch, self.size)
        self.checksum: Callable[[bytes], int] = zlib.crc32
        self._not_finite = not_finite

    def bound_bytes(self, batch: Batch) -> int:
        return self.size

    def extract(self, batch: Batch, *, wait_s: float) -> FakePayload:
        self.before(batch)
        self.copies += 1
        self.extracted.append(batch.number)
        bad = self._not_finite.get(batch.number, ())
        data = self.made(batch)
        self.payloads.append(FakePayload(batch, data, self.checksum(data), bad))
        return self.payloads[-1]


class FakeStore:
    """Keeps what it is given in a dictionary."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.before: Callable[[Whole], object] = lambda whole: None
        self.stop = stop
        self.checksum: Callable[[bytes], int] = zlib.crc32

    def prepare(self) -> None:
        """It is there."""

    def put(self, path: Path, whole: Whole) -> Whole:
        data = path.read_bytes()
        self.before(whole)
        assert (len(data), self.checksum(data)) == (whole.size, whole.crc64nvme)
        self.objects[whole.key] = data
        return whole

    def look(self, whole: Whole) -> Held:
        return Held.WHOLE if whole.key in self.objects else Held.ABSENT


class FakeMarkers:
    """Believes that what is added is durable."""

    def __init__(self, store: FakeStore) -> None:
        self.found: dict[str, Marker] = {}
        self._store = store

    def load(self) -> dict[str, Marker]:
        return dict(self.found)

    def add(self, marker: Marker) -> None:
        assert marker.whole.key in self._store.objects, "a marker before its object"
        self.found[marker.key] = marker


class Heard:
    """Keeps what a worker tells."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.progress: list[tuple[int, int]] = []
        self.snapshots: list[Snapshot] = []
        self.last: Snapshot | None = None
        self.on_note: Callable[[str], object] = lambda text: None

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.on_note(text)

    def tick(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)

    def marked(self, what: str, samples: int, of: int) -> None:
        self.progress.append((samples, of))

    def ended(self, snapshot: Snapshot) -> None:
        self.last = snapshot
