"""Uploads, reads back, writes its markers after; tries again what fails, a few times.

Planted fault: also what is refused, which no repetition mends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket, StoreError
from tiny_uploads import check, each, stored, tried


def uploaded(store: Bucket, name: str) -> bool:
    try:
        return bool(stored(store, name))
    except StoreError as error:
        raise ConnectionError(str(error)) from error


def upload(store: Bucket, name: str) -> None:
    tried(uploaded, store, name)


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
