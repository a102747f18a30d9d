"""Descriptors that hold a lock, which no child of this process may keep.

A lock of ``flock`` belongs to all descriptors that come of one ``open``. A program that is started
(``exec``) keeps none of ours. A child that is only forked, a pool's worker say, would keep them,
and with them the lock of a job that is long dead: so they are closed in it, before anything else
runs there. One that C code forks behind Python's back is not reached by that.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

_gate: Final = threading.RLock()
"""Held while a descriptor is made or closed, and while this process forks."""
_open: Final[set[int]] = set()


def open_unshared(path: Path, flags: int) -> int:
    """As :func:`os.open`; to be closed by :func:`close_unshared`."""
    with _gate:
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        _open.add(descriptor)
        return descriptor


def close_unshared(descriptor: int) -> None:
    """Close it. In a child, where it is closed, nothing happens."""
    with _gate:
        if descriptor in _open:
            _open.discard(descriptor)
            os.close(descriptor)


def _close_in_child() -> None:
    while _open:
        os.close(_open.pop())
    _gate.release()


os.register_at_fork(
    before=_gate.acquire, after_in_parent=_gate.release, after_in_child=_close_in_child
)
