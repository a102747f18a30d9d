"""Uploads, looks at what the store has, tries again if it differs.

Planted fault: it looks at the size alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import body_of, check, each, key_of, tried


def uploaded(store: Bucket, name: str) -> bool:
    store.put(key_of(name), body_of(name))
    seen = store.head(key_of(name))
    return seen is not None and int(seen["content-length"]) == len(body_of(name))


def upload(store: Bucket, name: str) -> None:
    tried(uploaded, store, name)


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
