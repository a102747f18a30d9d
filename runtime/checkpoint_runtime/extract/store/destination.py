"""Objects that are put without overwriting, again where that helps, and verified by what is held.

Every answer of a store is a claim. What an upload ends with is what the store holds: by a checksum
that it computed itself, or else by its bytes.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TypeVar

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Held, Whole
from checkpoint_runtime.extract.store.backoff import Backoff
from checkpoint_runtime.extract.store.failures import (
    TransientStoreError,
    UnreachableError,
)
from checkpoint_runtime.extract.store.objects import Listed, Objects, Seen
from checkpoint_runtime.extract.store.options import StoreOptions, Verify
from checkpoint_runtime.extract.store.upload import Upload

_T = TypeVar("_T")


class StoreDestination:
    """:class:`~checkpoint_runtime.extract.parts.Destination` over any store."""

    def __init__(
        self,
        objects: Objects,
        options: StoreOptions,
        *,
        note: Callable[[str], None],
        random: Random,
        stop: threading.Event,
    ) -> None:
        """
        :param note: told a sentence now and then, for the log.
        :param stop: once it is set, nothing waits any more.
        """
        self.objects = objects
        self.url = objects.url
        self._options = options
        self._note = note
        self._random = random
        self._stop = stop
        self._lock = threading.Lock()
        self._computes = False
        self.faults: Counter[str] = Counter()
        """What was tried again, by kind."""
        self.sent_bytes = 0
        """Of objects that were verified."""

    @property
    def computes_checksums(self) -> bool:
        """Whether the store does, as :meth:`prepare` has found."""
        return self._computes

    def check(self) -> None:
        """Is it there, and may we look into it? Nothing is written.

        :raises StoreError: no.
        """
        self._at_once(self.objects.check)

    def prepare(self) -> None:
        """
        :raises StoreError: it is not there, may not be written, or cannot be used.
        """
        self.check()
        self._computes = self._at_once(self.objects.probe)
        if not self._computes and self._options.verify is not Verify.ALWAYS:
            how = (
                "no object is read back"
                if self._options.verify is Verify.PROBE
                else f"one object in {self._options.sample_every} is read back"
            )
            self._note(
                f"{self.url}: this store does not compute checksums itself, and {how} (--verify "
                f"{self._options.verify.value}): other bytes of the same size would not be noticed."
            )

    def abandon_uploads(self, keys: Iterable[str]) -> int:
        """Remove what killed uploads of these objects left half done; how many there were.

        :param keys: those that only the caller puts: of its own shard.
        """
        found = list(keys)
        count = self.again(lambda: self.objects.abandon(found))
        if count:
            self._note(f"{self.url}: removed what {count} killed uploads had left half done.")
        return count

    def put(self, path: Path, whole: Whole) -> Whole:
        """Store the staged file. Returns once what the store holds was verified: what that is.

        It is something else than was staged if an earlier run had stored these samples, and was
        killed before their marker, and the device did not give the same bits again.

        :raises StoreError: it cannot be stored, or not within the budget; or something else is
            there under its key, which is left as it is.
        :raises StoppedError: the run is to stop.
        """
        backoff = self._backoff()
        upload = Upload(self, path, whole)
        while True:
            try:
                upload.attempt()
            except TransientStoreError as error:
                self._count(error)
                backoff.pause(error)
            else:
                break
        with self._lock:
            self.sent_bytes += whole.size
        return upload.held

    def look(self, whole: Whole) -> Held:
        """What is held under a key, whatever ``--verify`` says."""
        return self.again(lambda: self.held(whole, thorough=True)[0])

    def held(self, whole: Whole, *, thorough: bool) -> tuple[Held, Seen | None]:
        """Once, without another try.

        :param thorough: not only of those that ``--verify`` picks.
        """
        seen = self.objects.seen(whole.key)
        if seen is None:
            return Held.ABSENT, None
        if seen.size != whole.size:
            return Held.OTHER, seen
        if self._computes and seen.crc64nvme is not None:
            return _equal(seen.crc64nvme == whole.crc64nvme), seen
        if seen.crc64nvme not in (None, whole.crc64nvme):
            # Even one that is only repeated was another upload's, then.
            return Held.OTHER, seen
        if not thorough and not self._is_read(whole.key):
            return Held.WHOLE, seen
        size, crc = 0, 0
        for chunk in self.objects.chunks(whole.key):
            size += len(chunk)
            crc = crc64nvme(chunk, crc)
        return _equal((size, crc) == (whole.size, whole.crc64nvme)), seen

    def again(self, act: Callable[[], _T]) -> _T:
        """Do it, with further tries within a budget of its own."""
        backoff = self._backoff()
        while True:
            try:
                return act()
            except TransientStoreError as error:
                self._count(error)
                backoff.pause(error)

    def _at_once(self, act: Callable[[], _T]) -> _T:
        """As :meth:`again`; but that nobody answers is told at once: an address may be wrong."""

        def tried() -> _T:
            try:
                return act()
            except UnreachableError as error:
                raise StoreError(f"{error} Nothing was done.") from error

        return self.again(tried)

    def listed(self, folder: str = "") -> Iterator[Listed]:
        """In the order of keys. A page that fails is asked for again; the sweep goes on there."""
        backoff, last = self._backoff(), ""
        while True:
            try:
                for found in self.objects.listed(folder, after=last):
                    yield found
                    if found.key > last:
                        backoff, last = self._backoff(), found.key
            except TransientStoreError as error:
                self._count(error)
                backoff.pause(error)
            else:
                return

    def _is_read(self, key: str) -> bool:
        if self._options.verify is Verify.SAMPLE:
            return zlib.crc32(key.encode()) % self._options.sample_every == 0
        return self._options.verify is Verify.ALWAYS

    def _backoff(self) -> Backoff:
        return Backoff(
            self._options.budget_s,
            first_s=self._options.first_pause_s,
            longest_s=self._options.longest_pause_s,
            random=self._random,
            stop=self._stop,
            note=self._note,
        )

    def _count(self, error: TransientStoreError) -> None:
        with self._lock:
            self.faults[error.kind] += 1

    def note(self, text: str) -> None:
        self._note(text)


def _equal(equal: bool) -> Held:
    return Held.WHOLE if equal else Held.OTHER
