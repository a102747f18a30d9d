"""What the uploaders here have in common: what they upload, their markers, an upload that is sure.

Each differs in one thing, and has that itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from tiny_s3 import Bucket, StoreError

NAMES = ("ann",)
TWO = ("ann", "bob")
ATTEMPTS = 4


def body_of(name: str) -> bytes:
    return f"what {name} said\n".encode() * 20


def key_of(name: str) -> str:
    return f"said/{name}.txt"


def bucket() -> Bucket:
    return Bucket("talks", timeout_s=0.5)


def pause(attempt: int) -> None:
    """Longer each time."""
    threading.Event().wait(0.01 * 2**attempt)


def refused(error: StoreError) -> bool:
    """Whether it is of no use to try again."""
    return error.status < 500 and (error.status != 404 or "NoSuchBucket" in str(error))


def tried(once: Callable[[Bucket, str], bool], store: Bucket, name: str) -> None:
    """Again and again, until it says that it is done; SystemExit when the attempts are used up."""
    last = "the store holds something else"
    for attempt in range(ATTEMPTS):
        try:
            if once(store, name):
                return
        except StoreError as error:
            if refused(error):
                raise SystemExit(f"{name}: refused: {error}") from error
            last = str(error)
        except OSError as error:
            last = str(error)
        pause(attempt)
    raise SystemExit(f"{name}: given up after {ATTEMPTS} attempts: {last}")


def stored(store: Bucket, name: str) -> bool:
    """Whether the store holds just that, after an upload."""
    store.put(key_of(name), body_of(name))
    return bool(store.get(key_of(name)) == body_of(name))


def upload(store: Bucket, name: str) -> None:
    """Until the store holds just that."""
    tried(stored, store, name)


def marker_of(markers: Path, name: str) -> Path:
    return markers / f"{name}.done"


def mark(markers: Path, name: str) -> None:
    """Whole and durable, or not there."""
    half = markers / f"{name}.half"
    with open(half, "w") as file:
        file.write(sha256(body_of(name)).hexdigest())
        file.flush()
        os.fsync(file.fileno())
    half.rename(marker_of(markers, name))
    sync(markers)


def make(markers: Path) -> None:
    markers.mkdir(exist_ok=True)
    sync(markers.parent)


def sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def each(markers: Path, sent: Callable[[Bucket, str], None], names: Sequence[str] = NAMES) -> None:
    """What has no marker is sent, and then has one."""
    make(markers)
    store = bucket()
    for name in names:
        if not marker_of(markers, name).exists():
            sent(store, name)
            mark(markers, name)


def check(markers: Path) -> None:
    """Every object that a marker stands for, as the store has it."""
    store = bucket()
    for marker in sorted(markers.glob("*.done")):
        body = store.get(key_of(marker.stem))
        print(marker.stem, len(body), sha256(body).hexdigest() == marker.read_text())
