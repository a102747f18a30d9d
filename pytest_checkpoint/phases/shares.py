"""Time that several kinds of work share, so that none starves another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator


def do_fairly(works: Iterable[Iterator[None]], deadline: float) -> None:
    """Go on with each until all are done, or the deadline (of the monotonic clock) has come.

    Each gets an equal share of what is left when its turn comes; what it does not need goes on to
    the others, and what is not done then gets another turn. A piece that was begun is ended.
    """
    pending = list(works)
    while pending and time.monotonic() < deadline:
        unfinished = []
        for number, work in enumerate(pending):
            begun = time.monotonic()
            until = begun + (deadline - begun) / (len(pending) - number)
            if not _done(work, until):
                unfinished.append(work)
        pending = unfinished


def _done(work: Iterator[None], until: float) -> bool:
    while time.monotonic() < until:
        try:
            next(work)
        except StopIteration:
            return True
    return False
