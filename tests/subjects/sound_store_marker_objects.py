"""Uploads, reads back, and then stores a marker in the bucket. Sound."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import TWO, body_of, bucket, key_of, tried, upload


def marker_of(name: str) -> str:
    return f"done/{name}"


def marked(store: Bucket, name: str) -> bool:
    digest = sha256(body_of(name)).hexdigest().encode()
    store.put(marker_of(name), digest)
    return bool(store.get(marker_of(name)) == digest)


def run(workspace: Path) -> None:
    store = bucket()
    for name in TWO:
        if store.head(marker_of(name)) is None:
            upload(store, name)
            tried(marked, store, name)
    (workspace / "log").write_text(f"{len(TWO)} are there\n")


def check(workspace: Path) -> None:
    store = bucket()
    for key in store.list("done/"):
        name = key.removeprefix("done/")
        body = store.get(key_of(name))
        print(name, sha256(body).hexdigest() == store.get(key).decode())


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2]))
