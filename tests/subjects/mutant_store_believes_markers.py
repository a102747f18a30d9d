"""Uploads what it has no marker for, and reconciles.

Planted fault: it asks its markers which objects are there, and never the bucket.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_uploads import TWO, check, each, marker_of, upload


def run(markers: Path) -> None:
    each(markers, upload, TWO)


def reconcile(markers: Path) -> None:
    known = [name for name in TWO if marker_of(markers, name).exists()]
    print(f"{len(known)} of {len(TWO)} are there")


if __name__ == "__main__":
    commands = {"run": run, "check": check, "reconcile": reconcile}
    commands[sys.argv[1]](Path(sys.argv[2], "markers"))
