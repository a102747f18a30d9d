"""What a watcher makes of what it is told: no process, no clock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint_runtime import DefinitionError
from checkpoint_runtime.liveness import (
    Beat,
    BeatState,
    Judgement,
    Liveness,
    Presence,
    Reading,
    Watcher,
    Who,
)

HERE = Path("/w")
BEAT = Beat(
    worker="main",
    who=Who(10, 1000, "boot", "pid:[1]", "host"),
    interval_s=1.0,
    state=BeatState.RUNNING,
    number=1,
    monotonic_s=5.0,
    stage="load",
    progress=0,
    done=None,
    total=None,
)
ELSEWHERE, THERE = Presence.UNKNOWN, Presence.THERE


class Watched:
    """One worker, told of again and again."""

    def __init__(
        self,
        *,
        stalled_after_s: float | None = None,
        start_within_s: float | None = None,
        gap_s: float = float("inf"),
    ) -> None:
        self.watcher = Watcher(
            stale_after_s=10,
            stalled_after_s=stalled_after_s,
            start_within_s=start_within_s,
            longest_gap_s=gap_s,
        )
        self.now_s = 7000.0
        self.beat: Beat | None = BEAT
        self.presence = ELSEWHERE
        self.problem: str | None = None

    def sees(self) -> Judgement:
        reading = Reading(HERE, "main", self.beat, self.problem, self.presence)
        (judged,) = self.watcher.observe([reading], self.now_s)
        return judged

    def after(self, time_s: float, *, beats: bool = False, progress: int | None = None) -> Liveness:
        self.now_s += time_s
        if beats and self.beat is not None:
            self.beat = replace(self.beat, number=self.beat.number + 1)
        if progress is not None and self.beat is not None:
            self.beat = replace(self.beat, progress=progress)
        return self.sees().liveness


def test_an_old_beat_says_nothing_until_it_changes() -> None:
    watched = Watched()
    assert watched.after(0) is Liveness.WAITING
    assert watched.after(9) is Liveness.WAITING
    assert watched.after(0.5, beats=True) is Liveness.ALIVE
    assert watched.after(9.9) is Liveness.ALIVE
    assert watched.after(0.1) is Liveness.STALE
    assert watched.after(5, beats=True) is Liveness.ALIVE


def test_one_that_never_changes_is_stale_when_the_bound_is_over() -> None:
    watched = Watched()
    watched.sees()
    assert watched.after(10) is Liveness.STALE
    assert watched.sees().why == "no beat for 10.0 s; its process cannot be seen from here"


def test_who_is_certainly_there_is_alive_at_once_and_stays_so() -> None:
    """One that cannot write its beats any more, on a full disk say, works all the same."""
    watched = Watched()
    watched.presence = THERE
    assert watched.after(0) is Liveness.ALIVE
    assert not watched.sees().decided
    assert watched.after(100) is Liveness.ALIVE
    assert watched.sees().why == "its process is there, though no beat was seen for 100.0 s"
    assert watched.sees().decided


@pytest.mark.parametrize("presence", [Presence.STOPPED, Presence.FROZEN])
def test_who_is_stopped_is_stale_when_the_bound_is_over(presence: Presence) -> None:
    watched = Watched()
    watched.presence = THERE
    watched.after(0)
    watched.after(1, beats=True)
    watched.presence = presence
    assert watched.after(9.9) is Liveness.ALIVE
    assert watched.after(0.1) is Liveness.STALE
    watched.presence = THERE
    assert watched.after(1) is Liveness.ALIVE


@pytest.mark.parametrize("presence", [Presence.GONE, Presence.REUSED])
def test_who_is_certainly_gone_is_stale_at_once(presence: Presence) -> None:
    watched = Watched()
    watched.presence = presence
    judged = watched.sees()
    assert (judged.liveness, judged.decided, judged.why) == (Liveness.STALE, True, presence.value)


def test_a_machine_started_again_may_be_another_one_of_the_same_name() -> None:
    watched = Watched()
    watched.presence = Presence.REBOOTED
    assert watched.after(0) is Liveness.WAITING
    assert not watched.sees().decided
    assert watched.after(9.9) is Liveness.WAITING
    assert watched.after(0.1) is Liveness.STALE
    assert watched.sees().why == "its machine has been started again since"
    assert watched.after(1, beats=True) is Liveness.ALIVE
    watched.presence = Presence.GONE
    assert watched.after(1, beats=True) is Liveness.STALE


@pytest.mark.parametrize(
    ("state", "liveness"),
    [
        (BeatState.FINISHED, Liveness.FINISHED),
        (BeatState.FAILED, Liveness.FAILED),
        (BeatState.PREEMPTED, Liveness.PREEMPTED),
    ],
)
@pytest.mark.parametrize("presence", [Presence.GONE, THERE, ELSEWHERE])
def test_who_said_that_it_ended_has(
    state: BeatState, liveness: Liveness, presence: Presence
) -> None:
    watched = Watched()
    watched.beat = replace(BEAT, state=state)
    watched.presence = presence
    assert watched.after(0) is liveness
    assert watched.after(100) is liveness
    assert watched.sees().decided
    watched.beat = replace(BEAT, who=Who(11, 1, "b", "", ""))
    watched.presence = ELSEWHERE
    assert watched.after(1) is Liveness.ALIVE


def test_who_beats_and_does_not_advance_is_stalled_if_that_is_asked_for() -> None:
    for stalled_after_s, expected in ((20.0, Liveness.STALLED), (None, Liveness.ALIVE)):
        watched = Watched(stalled_after_s=stalled_after_s)
        watched.sees()
        for _ in range(19):
            assert watched.after(1, beats=True) is Liveness.ALIVE
        assert watched.after(1, beats=True) is expected
        assert watched.after(1, beats=True, progress=1) is Liveness.ALIVE


def test_who_cannot_be_seen_to_advance_is_not_stalled() -> None:
    watched = Watched(stalled_after_s=20)
    watched.presence = THERE
    watched.sees()
    assert watched.after(100) is Liveness.ALIVE


def test_stale_is_told_before_stalled() -> None:
    watched = Watched(stalled_after_s=5)
    watched.sees()
    assert watched.after(1, beats=True) is Liveness.ALIVE
    assert watched.after(6) is Liveness.STALLED
    assert watched.after(10) is Liveness.STALE


def test_nobody_is_stale_before_two_beats_are_overdue() -> None:
    watched = Watched()
    watched.beat = replace(BEAT, interval_s=60.0)
    watched.sees()
    watched.after(1, beats=True)
    assert watched.after(119) is Liveness.ALIVE
    assert watched.after(1) is Liveness.STALE


def test_the_time_in_which_nobody_watched_does_not_count() -> None:
    """A watcher that was itself stopped for an hour calls nobody stale for that."""
    watched = Watched(gap_s=3)
    watched.sees()
    watched.after(1, beats=True)
    assert watched.after(3600) is Liveness.ALIVE
    assert watched.after(3600) is Liveness.ALIVE
    assert watched.after(3600) is Liveness.ALIVE
    assert watched.after(3600) is Liveness.STALE


def test_a_clock_that_goes_back_makes_nobody_stale() -> None:
    watched = Watched()
    watched.sees()
    watched.after(1, beats=True)
    assert watched.after(-5000) is Liveness.ALIVE
    assert watched.after(9) is Liveness.ALIVE


def test_without_any_beat_it_is_waited_and_that_is_an_answer_too() -> None:
    watched = Watched()
    watched.beat = None
    assert watched.after(0) is Liveness.WAITING
    assert not watched.sees().decided
    assert watched.after(10) is Liveness.WAITING
    assert watched.sees().decided
    watched.beat = BEAT
    assert watched.after(1) is Liveness.WAITING
    assert watched.after(1, beats=True) is Liveness.ALIVE


def test_who_is_to_start_within_a_time_is_stale_behind_it() -> None:
    watched = Watched(start_within_s=60)
    watched.beat = None
    assert watched.after(0) is Liveness.WAITING
    assert watched.after(59) is Liveness.WAITING
    assert not watched.sees().decided
    assert watched.after(1) is Liveness.STALE
    assert watched.sees().why == "nobody has beaten within 60.0 s"
    watched.beat = BEAT
    assert watched.after(1) is Liveness.WAITING
    assert watched.after(1, beats=True) is Liveness.ALIVE


def test_a_file_that_holds_no_beat_is_stale_in_the_end() -> None:
    watched = Watched()
    watched.beat, watched.problem = None, "x holds no heartbeat"
    assert watched.after(0) is Liveness.WAITING
    assert watched.after(10) is Liveness.STALE
    assert watched.sees().why == "no beat for 10.0 s; x holds no heartbeat"


def test_a_file_that_cannot_be_read_for_a_moment_is_no_beat_and_no_loss() -> None:
    watched = Watched()
    watched.sees()
    watched.after(1, beats=True)
    watched.beat, watched.problem = None, "x cannot be read"
    assert watched.after(5) is Liveness.ALIVE
    watched.beat, watched.problem = replace(BEAT, number=2), None
    assert watched.after(4) is Liveness.ALIVE
    assert watched.after(1) is Liveness.STALE


def test_what_was_started_again_is_waited_for_and_what_is_left_says_nothing() -> None:
    watched = Watched()
    watched.presence = Presence.GONE
    assert watched.after(0) is Liveness.STALE
    watched.watcher.expect_another(HERE, "main", 60)
    assert watched.after(59) is Liveness.WAITING
    assert watched.after(1) is Liveness.STALE
    watched.watcher.expect_another(HERE, "main", 60)
    watched.beat = replace(BEAT, who=Who(11, 2000, "boot", "pid:[1]", "host"))
    watched.presence = THERE
    assert watched.after(59) is Liveness.ALIVE
    watched.presence = Presence.GONE
    assert watched.after(1) is Liveness.STALE


def test_one_that_finished_when_it_was_told_to_end_is_not_called_stale() -> None:
    watched = Watched()
    watched.presence = Presence.GONE
    assert watched.after(0) is Liveness.STALE
    watched.watcher.expect_another(HERE, "main", 60)
    watched.beat = replace(BEAT, state=BeatState.FINISHED)
    assert watched.after(59) is Liveness.WAITING, "what was started again may still beat"
    assert watched.after(1) is Liveness.FINISHED


def test_to_decide_it_takes_a_beat_and_where_that_is_judged_progress() -> None:
    watched = Watched()
    watched.sees()
    watched.after(1, beats=True)
    assert watched.sees().decided
    watched = Watched(stalled_after_s=20)
    watched.sees()
    watched.after(1, beats=True)
    assert not watched.sees().decided
    watched.after(1, beats=True, progress=1)
    assert watched.sees().decided


@pytest.mark.parametrize("bound_s", [0, -1, float("nan"), float("inf"), True])
def test_a_bound_that_is_none_is_refused(bound_s: float) -> None:
    with pytest.raises(DefinitionError, match="stale_after_s"):
        Watcher(stale_after_s=bound_s)
    with pytest.raises(DefinitionError, match="stalled_after_s"):
        Watcher(stalled_after_s=bound_s)
