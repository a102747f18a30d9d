"""What follows from a sweep, done: each step leaves a state from which extract goes on."""

from __future__ import annotations

from typing import Protocol

from checkpoint_runtime.extract.parts import Marker
from checkpoint_runtime.extract.reconcile.findings import Finding, Kind, Report
from checkpoint_runtime.extract.reconcile.sweep import swept
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.failures import TakenError


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
    for finding in swept(destination, markers.load(), deep=deep):
        report.add(finding)
    return report


def applied(destination: StoreDestination, markers: KeptMarkers, *, deep: bool) -> Report:
    """The sweep, and what follows from it.

    :raises MarkerError: a marker cannot be written.
    :raises StoreError: the store cannot be read, or an object not be removed.
    """
    report = looked(destination, markers, deep=deep)
    for finding in report.to_do:
        try:
            _apply(finding, destination, markers)
        except TakenError:
            report.left[finding.key] = "it has changed since it was looked at"
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
