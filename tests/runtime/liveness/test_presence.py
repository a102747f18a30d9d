"""Whether a process is there: real processes, and beats that tell of others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint_runtime.liveness import Presence, Who, beater, presence, read_worker
from checkpoint_runtime.liveness.beat import BeatState, who_text
from checkpoint_runtime.liveness.frozen import is_frozen
from checkpoint_runtime.liveness.presence import presence_of
from tests.runtime.liveness.workers import until

HERE = Who.this_process()
OTHER_BOOT = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (HERE, Presence.THERE),
        (replace(HERE, start_ticks=HERE.start_ticks - 1), Presence.REUSED),
        (replace(HERE, boot_id=OTHER_BOOT), Presence.REBOOTED),
        (replace(HERE, boot_id=OTHER_BOOT, host="another"), Presence.UNKNOWN),
        (replace(HERE, boot_id=""), Presence.UNKNOWN),
        (replace(HERE, pid_namespace="pid:[7]"), Presence.UNKNOWN),
        (replace(HERE, pid_namespace=""), Presence.UNKNOWN),
        (replace(HERE, pid=2**22 + 1), Presence.GONE),
    ],
)
def test_a_process_is_told_from_another_of_its_number(who: Who, expected: Presence) -> None:
    assert presence_of(who) is expected


def test_a_process_that_is_stopped_or_dead_and_not_yet_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = beater.look(process.pid)
        assert found is not None
        who = replace(HERE, pid=process.pid, start_ticks=found[1])
        assert presence_of(who) is Presence.THERE
        process.send_signal(signal.SIGSTOP)
        until(lambda: presence_of(who) is Presence.STOPPED)
        process.kill()
        until(lambda: presence_of(who) is Presence.GONE)
        assert os.path.exists(f"/proc/{process.pid}")


def test_a_process_that_is_hidden_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beater, "look", lambda pid: None)
    assert presence_of(HERE) is Presence.UNKNOWN


def test_a_paused_container_is_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "cgroup.events"
    monkeypatch.setattr("checkpoint_runtime.liveness.frozen._events_of", lambda pid: group)
    assert not is_frozen(1)
    group.write_text("populated 1\nfrozen 0\n")
    assert presence_of(HERE) is Presence.THERE
    group.write_text("populated 1\nfrozen 1\n")
    assert presence_of(HERE) is Presence.FROZEN


def test_one_that_ends_between_two_looks_is_not_called_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beat is read, then it ends and says so, then it is looked for."""
    path = tmp_path / "heartbeats" / "main.json"
    path.parent.mkdir()
    who = who_text("main", HERE, 1.0)

    def say(state: BeatState) -> None:
        beater.replace(str(path), beater.line_of(who, 1, state, [0, -1, -1], b"null"))

    def look(pid: int) -> None:
        say(BeatState.FINISHED)

    say(BeatState.RUNNING)
    monkeypatch.setattr(beater, "look", look)
    monkeypatch.setattr(presence, "_is_hidden", lambda pid: False)
    beat = read_worker(tmp_path, "main").beat
    assert beat is not None
    assert beat.state is BeatState.FINISHED
