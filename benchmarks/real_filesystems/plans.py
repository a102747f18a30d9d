"""In which order writers are provoked: what tells most comes first, single operations last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.real_filesystems.provoke import Kind, Plan

_FIRST = (
    (Kind.HELD_CALL, True),
    (Kind.NOTHING, False),
    (Kind.BOTH, False),
    (Kind.COMMIT, False),
    (Kind.HELD, True),
    (Kind.WRITEBACK, True),
)
"""Each with whether files stay open; the other way comes next."""
ALWAYS = 2
"""So many of the first show all that must be seen: these are carried out whatever the time says."""
_SINGLE = (Kind.BOTH, Kind.HELD, Kind.COMMIT, Kind.HELD_CALL, Kind.WRITEBACK)


def plans(steps: int, aimed: Sequence[Plan] = ()) -> Iterator[Plan]:
    """For a writer of so many operations; no plan twice. ``aimed``: what to begin with."""
    yield from aimed
    yield from (plan for plan in _usual(steps) if plan not in aimed)


def _usual(steps: int) -> Iterator[Plan]:
    for kind, keep_open in _FIRST:
        yield Plan(kind, None, keep_open)
    for kind, keep_open in _FIRST:
        yield Plan(kind, None, not keep_open)
    for kind in _SINGLE:
        for step in range(1, steps + 1):
            yield Plan(kind, step, keep_open=step % 2 == 0)
