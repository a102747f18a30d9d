"""How far a worker is and how fast it got there: for people and for benchmarks, never believed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment. Counts are of this run."""

    batches: int
    """Stored, verified and marked."""
    batches_total: int
    """That were left when the run began."""
    samples: int
    samples_total: int
    tokens: int
    tokens_total: int
    bytes_staged: int
    bytes_uploaded: int
    batches_extracted: int
    batches_taken_up: int
    """That an earlier start had staged: they were not extracted again."""
    copies: int
    """From the device to the host."""
    elapsed_s: float
    paused_s: float
    """For want of room in the staging."""
    pauses: int
    staging_bytes: int
    """Held now."""
    staging_peak_bytes: int

    @property
    def samples_per_s(self) -> float:
        return self.samples / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def copies_per_batch(self) -> float:
        return self.copies / self.batches_extracted if self.batches_extracted else 0.0

    @property
    def eta_s(self) -> float | None:
        """None: nothing is done by which it could be told."""
        rate = self.tokens_per_s
        return (self.tokens_total - self.tokens) / rate if rate else None

    def as_json(self) -> dict[str, float | int | None]:
        """All of it, and what follows from it."""
        return asdict(self) | {
            "samples_per_s": round(self.samples_per_s, 3),
            "tokens_per_s": round(self.tokens_per_s, 3),
            "copies_per_batch": round(self.copies_per_batch, 3),
            "eta_s": None if self.eta_s is None else round(self.eta_s, 1),
        }


class Figures:
    """Counts, from several threads."""

    def __init__(
        self,
        *,
        batches: int,
        samples: int,
        tokens: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """What is left to do."""
        self._total = (batches, samples, tokens)
        self._lock = threading.Lock()
        self._clock = clock
        self._begun_s = clock()
        self._done = [0, 0, 0]
        self._extracted = 0
        self._taken_up = 0
        self._copies = 0
        self._staged = 0
        self._uploaded = 0

    @property
    def samples(self) -> int:
        """That are marked."""
        with self._lock:
            return self._done[1]

    @property
    def samples_total(self) -> int:
        return self._total[1]

    def extracted(self, copies: int) -> None:
        """One more batch.

        :param copies: from the device to the host, of all batches so far.
        """
        with self._lock:
            self._extracted += 1
            self._copies = copies

    def taken_up(self) -> None:
        """One more file of an earlier start."""
        with self._lock:
            self._taken_up += 1

    def staged(self, size_bytes: int) -> None:
        with self._lock:
            self._staged += size_bytes

    def stored(self, *, samples: int, tokens: int, size_bytes: int) -> None:
        """One more batch is marked."""
        with self._lock:
            self._done[0] += 1
            self._done[1] += samples
            self._done[2] += tokens
            self._uploaded += size_bytes

    def snapshot(
        self, *, paused_s: float, pauses: int, staging_bytes: int, staging_peak_bytes: int
    ) -> Snapshot:
        with self._lock:
            return Snapshot(
                batches=self._done[0],
                batches_total=self._total[0],
                samples=self._done[1],
                samples_total=self._total[1],
                tokens=self._done[2],
                tokens_total=self._total[2],
                bytes_staged=self._staged,
                bytes_uploaded=self._uploaded,
                batches_extracted=self._extracted,
                batches_taken_up=self._taken_up,
                copies=self._copies,
                elapsed_s=round(self._clock() - self._begun_s, 3),
                paused_s=round(paused_s, 3),
                pauses=pauses,
                staging_bytes=staging_bytes,
                staging_peak_bytes=staging_peak_bytes,
            )
