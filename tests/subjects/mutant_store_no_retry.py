"""Uploads, reads back, writes its markers after.

Planted fault: whatever the store answers but 200 ends it, and so does a connection that breaks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import check, each, stored


def upload(store: Bucket, name: str) -> None:
    if not stored(store, name):
        raise SystemExit(f"{name}: the store holds something else")


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
