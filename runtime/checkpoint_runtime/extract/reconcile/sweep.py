"""The sweep: one LIST of the store against the markers.

The markers are read before the store is listed. A worker at work meanwhile puts an object first and
marks it then: so what it does in between can look like an orphan, which to mark is right in any
case, and never like a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.markers.record import batch_of_object
from checkpoint_runtime.extract.parts import Marker
from checkpoint_runtime.extract.reconcile.findings import Finding, Kind
from checkpoint_runtime.extract.store.account import Account, account_of
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.file_objects import is_half
from checkpoint_runtime.extract.store.objects import MARKERS_FOLDER, PROBES_FOLDER, Listed

_NOT_OBJECTS: Final = (MARKERS_FOLDER, PROBES_FOLDER)


def swept(
    destination: StoreDestination, markers: dict[str, Marker], *, deep: bool
) -> Iterator[Finding]:
    """
    :param markers: by batch key, read before; emptied.
    :param deep: read the bytes of marked objects; otherwise their size is what is compared.
    :raises StoreError: the store cannot be read.
    """
    for listed in destination.listed():
        batch = batch_of_object(listed.key)
        if batch is not None:
            yield _judged(destination, listed, batch, markers.pop(batch, None), deep=deep)
        elif not listed.key.startswith(_NOT_OBJECTS) and not is_half(listed.key):
            yield Finding(kind=Kind.FOREIGN, key=listed.key, size=listed.size)
    for batch in sorted(markers):
        yield _not_listed(destination, markers.pop(batch), batch, deep=deep)


def _not_listed(
    destination: StoreDestination, marker: Marker, batch: str, *, deep: bool
) -> Finding:
    """A list may be older than the object, and what it says is lost would be done again."""
    key = marker.whole.key
    seen = destination.again(lambda: destination.objects.seen(key))
    if seen is None:
        return Finding(kind=Kind.LOST, key=key, size=None, marked_size=marker.whole.size)
    return _judged(destination, Listed(key, seen.size, seen.tag), batch, marker, deep=deep)


def _judged(
    destination: StoreDestination, listed: Listed, batch: str, marker: Marker | None, *, deep: bool
) -> Finding:
    size = None if marker is None else marker.whole.size
    if _agrees(destination, listed, marker, deep=deep):
        return Finding(kind=Kind.CONFIRMED, key=listed.key, size=listed.size, marked_size=size)
    account = _account(destination, listed.key, batch)
    return Finding(
        kind=_kind(account, marker),
        key=listed.key,
        size=listed.size,
        marked_size=size,
        problem=account.problem,
        tag=listed.tag,
        marker=account.marker(listed.key) if account.problem is None else None,
    )


def _agrees(
    destination: StoreDestination, listed: Listed, marker: Marker | None, *, deep: bool
) -> bool:
    if marker is None or marker.whole.size != listed.size:
        return False
    return not deep or _crc(destination, listed.key) == marker.whole.crc64nvme


def _kind(account: Account, marker: Marker | None) -> Kind:
    """Of an object that does not agree with a marker, or has none."""
    if marker is not None:
        same = account.problem is None and account.ids == marker.ids
        return Kind.REPLACED if same else Kind.TRUNCATED
    if account.problem is None:
        return Kind.ORPHAN
    # Somebody else's file may have such a name: only what says that it is ours is removed.
    return Kind.BROKEN if account.is_ours else Kind.FOREIGN


def _account(destination: StoreDestination, key: str, batch: str) -> Account:
    return destination.again(lambda: account_of(destination.objects.chunks(key), batch))


def _crc(destination: StoreDestination, key: str) -> int:
    def read() -> int:
        crc = 0
        for chunk in destination.objects.chunks(key):
            crc = crc64nvme(chunk, crc)
        return crc

    return destination.again(read)
