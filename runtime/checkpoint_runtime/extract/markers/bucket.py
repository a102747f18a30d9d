"""Markers as objects beside those that they speak of: for hosts that share the work, not a disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from checkpoint_runtime.extract.errors import MarkerError
from checkpoint_runtime.extract.markers.record import (
    batch_of_marker,
    content_of,
    marker_in,
    marker_name,
)
from checkpoint_runtime.extract.parts import Marker
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.failures import TransientStoreError
from checkpoint_runtime.extract.store.objects import MARKERS_FOLDER

_THREADS: Final = 8


class BucketMarkers:
    """:class:`~checkpoint_runtime.extract.parts.Markers` in the destination itself.

    No lock keeps two workers from one shard: they would do the same work, and each object is put
    once all the same.
    """

    def __init__(self, destination: StoreDestination) -> None:
        self._destination = destination
        self._objects = destination.objects
        self.place = f"{destination.url}/{MARKERS_FOLDER}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def load(self) -> dict[str, Marker]:
        """
        :raises MarkerError: one is damaged.
        :raises StoreError: they cannot be read.
        """
        keys = self._keys()
        with ThreadPoolExecutor(_THREADS) as threads:
            found = list(threads.map(self._loaded, keys))
        return {marker.key: marker for marker in found if marker is not None}

    def add(self, marker: Marker) -> None:
        """
        :raises StoreError: the store does not hold it.
        """
        key = MARKERS_FOLDER + marker_name(marker.key)
        content = content_of(marker)
        self._destination.again(lambda: self._put(key, content))

    def remove(self, key: str) -> None:
        """Of a batch that is to be done again."""
        name = MARKERS_FOLDER + marker_name(key)
        self._destination.again(lambda: self._objects.remove(name))

    def _keys(self) -> list[str]:
        return [
            listed.key
            for listed in self._destination.listed(MARKERS_FOLDER)
            if batch_of_marker(listed.key.removeprefix(MARKERS_FOLDER)) is not None
        ]

    def _loaded(self, key: str) -> Marker | None:
        content = self._destination.again(lambda: b"".join(self._objects.chunks(key)))
        if not content:
            seen = self._destination.again(lambda: self._objects.seen(key))
            if seen is None:
                return None  # reconcile has just taken it
        try:
            return marker_in(content, f"{self._destination.url}/{key}")
        except MarkerError:
            # What came may have been damaged on its way.
            again = self._destination.again(lambda: b"".join(self._objects.chunks(key)))
            return marker_in(again, f"{self._destination.url}/{key}")

    def _put(self, key: str, content: bytes) -> None:
        self._objects.put_bytes(key, content)
        if b"".join(self._objects.chunks(key)) != content:
            raise TransientStoreError(
                "marker not held",
                f"{self._destination.url}/{key}: the store has acknowledged the marker, and does "
                "not hold it.",
            )
