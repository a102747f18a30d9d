"""When a directory that has little room has room again, and what was refused until then.

A job that waits for room must see it come. How long it may wait is counted from the first refusal,
and, since a careful job waits before anything is refused, from the last change in the directory
too: longer than an undisturbed run takes, nothing happens there only if the job waits. Nobody is
woken at that moment; it is looked at when the job looks, or tries.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record.faults import Identity, identity_of_call


@dataclass(frozen=True, slots=True)
class Refusals:
    """Of the operation that was refused most often."""

    call: str
    path: str
    """Normalised, as in :class:`Identity`."""
    count: int
    within_s: float
    """From the first to the last."""


class Lull:
    """Of one run."""

    def __init__(
        self, again_after_s: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``again_after_s``: None: there is never room again."""
        self._after_s: Final = again_after_s
        self._clock: Final = clock
        self._begun: Final = clock()
        self._changed: float = self._begun
        self._first: float | None = None
        self._met: Final[Counter[Identity]] = Counter()
        self._times: Final[dict[Identity, tuple[float, float]]] = {}
        """Of each when it was refused first, and last."""
        self.over_s: float | None = None
        """Seconds from the first refusal, or the beginning, until there was room; None: not yet."""

    def refused(self, call: str, path: bytes) -> None:
        """For lack of room."""
        identity, now = identity_of_call(call, path), self._clock()
        self._met[identity] += 1
        self._times[identity] = (self._times.get(identity, (now, now))[0], now)
        if self._first is None:
            self._first = now

    def changed(self) -> None:
        """Something in the directory has become more, or less."""
        self._changed = self._clock()

    def is_over(self) -> bool:
        """Whether there is room again, from now on or before."""
        if self.over_s is None and self._after_s is not None:
            now = self._clock()
            since = self._begun if self._first is None else self._first
            waited = self._first is not None and now - self._first >= self._after_s
            if waited or now - self._changed >= self._after_s:
                self.over_s = now - since
        return self.over_s is not None

    @property
    def worst(self) -> Refusals | None:
        """None: nothing was refused."""
        most = self._met.most_common(1)
        if not most:
            return None
        identity, count = most[0]
        first, last = self._times[identity]
        return Refusals(identity.call, identity.path, count, last - first)


def lull_of(troubles: Iterable[object]) -> Lull | None:
    """Of the trouble that has one; None: nothing was limited."""
    found = (getattr(one, "lull", None) for one in troubles)
    return next((one for one in found if isinstance(one, Lull)), None)
