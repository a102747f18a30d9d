"""Uploads, tries again with a growing pause, reads back, compares; then the marker, durably.

Reconciles by one listing: markers of what is lost or cut go, whole orphans get theirs again. Sound:
the twin of those that trust, that retry for ever or not at all, and that believe their markers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_uploads import TWO, body_of, bucket, check, each, key_of, mark, marker_of, sync, upload


def run(markers: Path) -> None:
    each(markers, upload, TWO)


def reconcile(markers: Path) -> None:
    store = bucket()
    held = store.list("said/")
    for name in TWO:
        whole = held.get(key_of(name)) == len(body_of(name))
        marker = marker_of(markers, name)
        if whole and not marker.exists() and store.get(key_of(name)) == body_of(name):
            mark(markers, name)
        elif not whole and marker.exists():
            marker.unlink()
            sync(markers)


if __name__ == "__main__":
    commands = {"run": run, "check": check, "reconcile": reconcile}
    commands[sys.argv[1]](Path(sys.argv[2], "markers"))
