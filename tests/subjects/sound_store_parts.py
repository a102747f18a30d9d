"""Uploads in parts, within a `with` block that completes the upload only if nothing left the block,
and aborts it otherwise. Sound: the twin of publishes_on_exception.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tiny_s3 import Bucket
from tiny_uploads import TWO, body_of, check, each, key_of, tried

PIECE = 256


@contextlib.contextmanager
def published(store: Bucket, key: str) -> Iterator[Callable[[bytes], None]]:
    upload, tags = store.begin(key), list[str]()
    try:
        yield lambda piece: tags.append(store.part(key, upload, len(tags) + 1, piece))
    except BaseException:
        store.abort(key, upload)
        raise
    store.complete(key, upload, tags)


def told(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def uploaded(store: Bucket, name: str) -> bool:
    body = body_of(name)
    with published(store, key_of(name)) as send:
        for start in range(0, len(body), PIECE):
            send(body[start : start + PIECE])
    return bool(store.get(key_of(name)) == body)


def upload(store: Bucket, name: str) -> None:
    tried(uploaded, store, name)


def run(markers: Path) -> None:
    signal.signal(signal.SIGTERM, told)
    each(markers, upload, TWO)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](Path(sys.argv[2], "markers"))
