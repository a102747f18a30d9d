"""What the heartbeat of an undisturbed run must show: else a sentence about the subject."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.liveness.undisturbed import require_beats, require_end
from pytest_checkpoint.subject import HeartbeatSource
from tests.contracts.watch_builders import answers

BY_FILE = HeartbeatSource(glob="beat.json", stale_after_s=0.5)
BY_COMMAND = HeartbeatSource(command=("watch", "{workspace}"), stale_after_s=0.5)


def bench(source: HeartbeatSource) -> Any:
    return cast("Any", SimpleNamespace(subject=SimpleNamespace(heartbeat=source)))


def test_one_beat_is_enough() -> None:
    for word in ("alive", "stalled"):
        require_beats(bench(BY_FILE), answers(("waiting", 0.1), (word, 0.2), ("stale", 0.9)))


def test_a_file_that_was_never_seen_to_change() -> None:
    with pytest.raises(
        SubjectError, match=r"no file beat\.json was seen to change within 0\.5 s: "
    ):
        require_beats(bench(BY_FILE), answers(("waiting", 0.1), ("stale", 0.7)))


def test_a_command_that_never_said_alive() -> None:
    with pytest.raises(SubjectError, match=r"it never said 'alive': Alive! \(at 0\.1 s\); it has"):
        require_beats(bench(BY_COMMAND), answers(("Alive!", 0.1)))


def test_when_it_has_ended_a_command_says_so() -> None:
    require_end(bench(BY_COMMAND), answers(("alive", 0.1), ("finished", 0.9)))
    require_end(bench(BY_FILE), answers(("alive", 0.1), ("stale", 0.9)))
    with pytest.raises(SubjectError, match="after the undisturbed run it said: stale"):
        require_end(bench(BY_COMMAND), answers(("finished", 0.1), ("stale", 0.9)))
