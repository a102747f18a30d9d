"""Uploads, reads back, writes its markers after; tries again what fails, thirty times.

Planted fault: at once, which makes a store that has too much to do slower yet.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket, StoreError
from tiny_uploads import check, each, refused, stored


def upload(store: Bucket, name: str) -> None:
    for _ in range(30):
        try:
            if stored(store, name):
                return
        except StoreError as error:
            if refused(error):
                raise SystemExit(f"{name}: refused: {error}") from error
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
    raise SystemExit(f"{name}: given up")


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
