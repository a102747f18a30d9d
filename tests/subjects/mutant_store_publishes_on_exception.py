"""Uploads in parts, within a `with` block that completes the upload at its end.

Planted fault: it does so too when an exception leaves the block, as the one of Ctrl-C does; and the
next start takes what has the right name for the whole.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import body_of, check, each, key_of

PIECE = 128


@contextlib.contextmanager
def published(store: Bucket, key: str) -> Iterator[Callable[[bytes], None]]:
    upload, tags = store.begin(key), list[str]()
    try:
        yield lambda piece: tags.append(store.part(key, upload, len(tags) + 1, piece))
    finally:
        store.complete(key, upload, tags)


def told(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def upload(store: Bucket, name: str) -> None:
    if store.head(key_of(name)) is not None:
        return
    body = body_of(name)
    with published(store, key_of(name)) as send:
        for start in range(0, len(body), PIECE):
            send(body[start : start + PIECE])


def run(markers: Path) -> None:
    signal.signal(signal.SIGTERM, told)
    each(markers, upload)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
