"""Uploads what the bucket has not, whatever its markers say.

Planted fault: the marker is written before the upload. No resume of its own is misled by that;
whoever else reads the markers is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_uploads import NAMES, body_of, bucket, check, key_of, make, mark, marker_of, upload


def run(markers: Path) -> None:
    make(markers)
    store = bucket()
    held = store.list("said/")
    for name in NAMES:
        if not marker_of(markers, name).exists():
            mark(markers, name)
        if held.get(key_of(name)) != len(body_of(name)):
            upload(store, name)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
