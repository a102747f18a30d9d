"""Uploads, reads back, writes its markers after; tries again what fails, with a pause.

Planted fault: without end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket, StoreError
from tiny_uploads import check, each, pause, refused, stored


def upload(store: Bucket, name: str) -> None:
    while True:
        try:
            if stored(store, name):
                return
        except StoreError as error:
            if refused(error):
                raise SystemExit(f"{name}: refused: {error}") from error
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
        pause(-3)


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
