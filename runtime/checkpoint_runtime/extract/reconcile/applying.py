"""What follows from a sweep, done: each step leaves a state from which extract goes on."""

from __future__ import annotations

import time
from typing import Final, Protocol

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Marker
from checkpoint_runtime.extract.reconcile.findings import Finding, Kind, Report
from checkpoint_runtime.extract.reconcile.sweep import swept
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.failures import TakenError
from checkpoint_runtime.texts import counted

_TELLS_EVERY_S: Final = 10.0


class SeenMarkers(Protocol):
    """Markers that are only read."""

    place: str

    def load(self) -> dict[str, Marker]: ...


class KeptMarkers(SeenMarkers, Protocol):
    """Markers that can be taken back."""

    def add(self, marker: Marker) -> None: ...

    def remove(self, key: str) -> None: ...


def looked(destination: StoreDestination, markers: SeenMarkers, *, deep: bool) -> Report:
    """The sweep alone: nothing is changed."""
    report = Report(destination=destination.url, markers=markers.place, deep=deep)
    clock = _Clock(destination)
    for finding in swept(destination, markers.load(), deep=deep):
        report.add(finding)
        clock.tell(f"{counted(report.counts.total(), 'object')} looked at so far")
    return report


def applied(
    destination: StoreDestination, markers: KeptMarkers, *, deep: bool, all_lost: bool = False
) -> Report:
    """The sweep, and what follows from it.

    :param all_lost: it is known that nothing is left of what is marked.
    :raises StoreError: that is so, and was not known; nothing was changed.
    :raises MarkerError: a marker cannot be written.
    :raises StoreError: the store cannot be read, or an object not be removed.
    """
    report = looked(destination, markers, deep=deep)
    if report.is_all_lost and not all_lost:
        raise StoreError(
            f"{destination.url} holds none of the {report.counts[Kind.LOST]} objects that "
            f"{markers.place} has markers of. Nothing was changed: see that this is the right "
            "store (--endpoint-url, AWS_ENDPOINT_URL), and that a directory is mounted. If they "
            "are gone indeed, say --all-lost, and extract does all of it again."
        )
    clock = _Clock(destination)
    for number, finding in enumerate(report.to_do, start=1):
        try:
            _apply(finding, destination, markers)
        except TakenError:
            report.left[finding.key] = "it has changed since it was looked at"
        clock.tell(f"{number} of {counted(len(report.to_do), 'thing')} done")
    return report


def _apply(finding: Finding, destination: StoreDestination, markers: KeptMarkers) -> None:
    if finding.marker is not None and finding.kind in (Kind.ORPHAN, Kind.REPLACED):
        markers.add(finding.marker)
        return
    if finding.marked_size is not None:
        # First: no marker may be left without its object.
        markers.remove(finding.key.partition(".")[0])
    if finding.size is not None:
        destination.again(lambda: destination.objects.remove(finding.key, finding.tag))


class _Clock:
    """Tells now and then how far something is that takes long."""

    def __init__(self, destination: StoreDestination) -> None:
        self._destination = destination
        self._due = time.monotonic() + _TELLS_EVERY_S

    def tell(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _TELLS_EVERY_S
            self._destination.note(f"{self._destination.url}: {text}")
