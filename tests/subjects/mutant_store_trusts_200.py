"""Uploads, tries again where the store fails, writes its markers after.

Planted fault: it takes the answer 200 for the object.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import body_of, check, each, key_of, tried


def uploaded(store: Bucket, name: str) -> bool:
    store.put(key_of(name), body_of(name))
    return True


def upload(store: Bucket, name: str) -> None:
    tried(uploaded, store, name)


def run(markers: Path) -> None:
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
