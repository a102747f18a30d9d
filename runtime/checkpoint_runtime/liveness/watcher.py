"""A watcher: remembers what it has seen of each worker, and says what that comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.liveness.beat import Beat, BeatState, Who
from checkpoint_runtime.liveness.judgement import Liveness, Seen, judged
from checkpoint_runtime.liveness.presence import Presence
from checkpoint_runtime.liveness.reading import Reading

DEFAULT_STALE_AFTER_S: Final = 30.0
_BEATS_MISSED: Final = 2
"""Nobody is called stale for fewer, whatever the bound."""
_LONGEST_S: Final = 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a watcher says of one worker."""

    workspace: Path
    worker: str
    liveness: Liveness
    why: str
    """A sentence without a full stop."""
    decided: bool
    """Whether it has been watched for long enough to say so to somebody who asks only once."""
    beat: Beat | None
    """The last one that could be read."""
    problem: str | None
    """Why it cannot be read now."""
    presence: Presence
    quiet_s: float
    """So long no beat has been seen."""
    standing_s: float
    """So long no progress has been seen."""


@dataclass(slots=True)
class _Watched:
    """One worker, as it was seen by now. Times are on the watcher's own clock."""

    since_s: float
    beat: Beat | None = None
    beaten_s: float = field(init=False)
    """When a beat was last seen to change, or the first one came into view."""
    sign_s: float = field(init=False)
    """When there was last a sign of life, or it came into view."""
    progressed_s: float = field(init=False)
    has_beaten: bool = False
    """A beat was seen to change."""
    has_progressed: bool = False
    problem: str | None = None
    presence: Presence = Presence.UNKNOWN
    replaced: Who | None = None
    """Another process is to take its place: what this one has left says nothing."""
    replaced_within_s: float = 0.0

    def __post_init__(self) -> None:
        self.beaten_s = self.sign_s = self.progressed_s = self.since_s


class Watcher:
    """Told what is read of workers, again and again. Does nothing by itself, and reads no clock.

    >>> watcher = Watcher(stale_after_s=30)
    >>> watcher.observe(read_workspace(workspace), time.monotonic())
    """

    def __init__(
        self,
        *,
        stale_after_s: float = DEFAULT_STALE_AFTER_S,
        stalled_after_s: float | None = None,
        start_within_s: float | None = None,
        longest_gap_s: float = float("inf"),
    ) -> None:
        """
        :param stale_after_s: without a sign of life for so long a worker is stale; not before two
            beats are overdue.
        :param stalled_after_s: without progress for so long it is stalled; None: never.
        :param start_within_s: who has not beaten at all for so long is stale; None: it is waited
            for, since nobody can tell whether it is to begin at all.
        :param longest_gap_s: of the time between two observations no more counts: in a watcher that
            was itself stopped for an hour nobody becomes stale by that.
        :raises DefinitionError: no time that could be waited for.
        """
        self.stale_after_s = _checked(stale_after_s, "stale_after_s")
        self.stalled_after_s = (
            None if stalled_after_s is None else _checked(stalled_after_s, "stalled_after_s")
        )
        self.start_within_s = (
            None if start_within_s is None else _checked(start_within_s, "start_within_s")
        )
        self._longest_gap_s = longest_gap_s
        self._watched: dict[tuple[Path, str], _Watched] = {}
        self._last_s: float | None = None
        self._clock_s = 0.0

    def observe(self, readings: Iterable[Reading], now_s: float) -> list[Judgement]:
        """What is to be said of each worker, now that this has been read.

        :param now_s: on a monotonic clock of the watcher's.
        """
        if self._last_s is not None:
            self._clock_s += min(max(0.0, now_s - self._last_s), self._longest_gap_s)
        self._last_s = now_s
        return [self._observe(reading) for reading in readings]

    def expect_another(self, workspace: Path, worker: str, within_s: float) -> None:
        """Another process is to take the place of this worker: only what that one says counts."""
        watched = self._watched.get((workspace, worker))
        if watched is not None:
            watched.replaced = None if watched.beat is None else watched.beat.who
            watched.replaced_within_s = within_s
            watched.since_s = watched.sign_s = self._clock_s

    def _observe(self, reading: Reading) -> Judgement:
        key = reading.workspace, reading.worker
        watched = self._watched.get(key)
        if watched is None:
            watched = self._watched[key] = _Watched(self._clock_s)
        self._take(watched, reading)
        if watched.replaced is not None:
            return self._judgement(reading, watched, *self._while_replaced(watched))
        seen = self._seen(watched)
        liveness = judged(seen)
        why = self._why(watched, liveness)
        return self._judgement(reading, watched, liveness, why, self._decided(watched, liveness))

    def _take(self, watched: _Watched, reading: Reading) -> None:
        beat, before = reading.beat, watched.beat
        watched.problem = reading.problem
        watched.presence = reading.presence
        if beat is not None and beat != before:
            anew = before is None or before.who != beat.who
            if before is not None:
                watched.has_beaten = True
            if watched.replaced not in (None, beat.who):
                watched.replaced = None
            watched.beaten_s = watched.sign_s = self._clock_s
            if anew or (before is not None and before.progress != beat.progress):
                watched.progressed_s = self._clock_s
                watched.has_progressed = before is not None
            watched.beat = beat
        if reading.presence is Presence.THERE:
            watched.sign_s = self._clock_s

    def _seen(self, watched: _Watched) -> Seen:
        beat = watched.beat
        beats = self._clock_s - watched.beaten_s < self._bound_s(beat)
        standing_s = self._clock_s - watched.progressed_s
        quiet_s = self._clock_s - watched.sign_s
        known = beat is not None or watched.problem is not None
        late = self.start_within_s is not None and quiet_s >= self.start_within_s
        # Another machine of the same name may be what beats there: that is waited for.
        doubtful = watched.presence is Presence.REBOOTED
        return Seen(
            ended=None if beat is None or beat.state is BeatState.RUNNING else beat.state,
            dead=watched.presence.is_dead and not doubtful,
            quiet=quiet_s >= self._bound_s(beat) if known else late,
            beating=watched.has_beaten or watched.presence is Presence.THERE,
            standing=beats
            and self.stalled_after_s is not None
            and standing_s >= self.stalled_after_s,
        )

    def _bound_s(self, beat: Beat | None) -> float:
        overdue_s = 0.0 if beat is None else _BEATS_MISSED * beat.interval_s
        return max(self.stale_after_s, overdue_s)

    def _while_replaced(self, watched: _Watched) -> tuple[Liveness, str, bool]:
        if self._clock_s - watched.since_s >= watched.replaced_within_s:
            if watched.beat is not None and watched.beat.state is BeatState.FINISHED:
                return Liveness.FINISHED, "it said that it finished when it was told to end", True
            why = f"it was started again, and has not beaten within {watched.replaced_within_s:g} s"
            return Liveness.STALE, why, True
        return Liveness.WAITING, "it was started again, and has not beaten yet", False

    def _decided(self, watched: _Watched, liveness: Liveness) -> bool:
        if liveness is Liveness.WAITING:
            waited_s = self._clock_s - watched.since_s
            wanted_s = self.start_within_s or self.stale_after_s
            return waited_s >= wanted_s and watched.beat is None
        if liveness is Liveness.ALIVE:
            gets_on = self.stalled_after_s is None or watched.has_progressed
            quiet_s = self._clock_s - watched.beaten_s
            # One that is there and cannot beat: more is not to be learnt of it.
            return (watched.has_beaten and gets_on) or quiet_s >= self._bound_s(watched.beat)
        return True

    def _why(self, watched: _Watched, liveness: Liveness) -> str:
        quiet_s = self._clock_s - watched.beaten_s
        if liveness is Liveness.STALE:
            what = watched.problem or watched.presence.value
            if watched.presence.is_dead:
                return what
            if watched.beat is None and watched.problem is None:
                return f"nobody has beaten within {quiet_s:.1f} s"
            return f"no beat for {quiet_s:.1f} s; {what}"
        if liveness is Liveness.STALLED:
            return (
                f"it beats, and has not advanced for {self._clock_s - watched.progressed_s:.1f} s"
            )
        if liveness is Liveness.ALIVE:
            if quiet_s < self._bound_s(watched.beat):
                return "it beats" if watched.has_beaten else watched.presence.value
            return f"{watched.presence.value}, though no beat was seen for {quiet_s:.1f} s"
        if liveness is Liveness.WAITING:
            if watched.beat is None:
                return watched.problem or "it has not beaten yet"
            return f"it has not been seen to beat yet; {watched.presence.value}"
        return f"it said so: {liveness}"

    def _judgement(
        self, reading: Reading, watched: _Watched, liveness: Liveness, why: str, decided: bool
    ) -> Judgement:
        return Judgement(
            workspace=reading.workspace,
            worker=reading.worker,
            liveness=liveness,
            why=why,
            decided=decided,
            beat=watched.beat,
            problem=watched.problem,
            presence=watched.presence,
            quiet_s=self._clock_s - watched.beaten_s,
            standing_s=self._clock_s - watched.progressed_s,
        )


def _checked(time_s: float, name: str) -> float:
    if type(time_s) not in (int, float) or not 0 < time_s <= _LONGEST_S:
        raise DefinitionError(f"{name}={time_s!r} is no time in seconds, more than 0.")
    return float(time_s)
