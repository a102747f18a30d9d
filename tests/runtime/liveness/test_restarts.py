"""One restart for a workspace, however many of its workers need one, and whenever they fall."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint_runtime.command.incidents import Incidents
from checkpoint_runtime.command.parser import parsed
from checkpoint_runtime.command.watch_options import watch_options
from checkpoint_runtime.liveness import Liveness, Presence, Reading, Watcher, restarts
from checkpoint_runtime.liveness.beat import Beat, BeatState, Who

BEAT = Beat(
    worker="a",
    who=Who(2**22 + 1, 7, "boot", "pid:[1]", "host"),
    interval_s=1.0,
    state=BeatState.RUNNING,
    number=5,
    monotonic_s=1.0,
    stage="work",
    progress=0,
    done=None,
    total=None,
)


class Job:
    """Workers of some workspaces, as they are read, and what the watch starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *workspaces: str, budget: int = 9) -> None:
        self.started: list[list[str]] = []
        self.code: int | None = None
        """What was started last has ended with it."""
        self.said: list[str] = []
        self.readings: dict[tuple[str, str], Reading] = {}
        self._now = self._clock()
        arguments = ["watch", *workspaces, "--backoff", "0", "--restarts", str(budget)]
        given = parsed([*arguments, "--restart", "--", "go", "{workspace}"])
        watcher = Watcher(stale_after_s=10)
        self._watcher = watcher
        self._incidents = Incidents(watch_options(given), watcher, self.said.append)
        monkeypatch.setattr(restarts, "_adopt", lambda: None)
        monkeypatch.setattr(subprocess, "Popen", self._popen)

    def sees(self, workspace: str, worker: str, presence: Presence, number: int = 5) -> None:
        beat = replace(BEAT, worker=worker, number=number)
        key = workspace, worker
        self.readings[key] = Reading(Path(workspace).absolute(), worker, beat, None, presence)

    def goes_on(self) -> dict[str, Liveness]:
        """A second passes; what is said of each worker."""
        found = self._watcher.observe(self.readings.values(), next(self._now))
        judgements = self._incidents.corrected(found)
        self._incidents.see_to(judgements)
        return {judged.worker: judged.liveness for judged in judgements}

    def _popen(self, command: list[str], **settings: object) -> Job._Started:
        self.started.append(command)
        return Job._Started(self)

    class _Started:
        pid = 2**22 + 2  # nobody can have this number

        def __init__(self, job: Job) -> None:
            self._job = job

        def poll(self) -> int | None:
            return self._job.code

        def wait(self, longest_s: float) -> int | None:
            return self._job.code

    @staticmethod
    def _clock() -> Iterator[float]:
        now = 0.0
        while True:
            now += 1.0
            yield now


def test_workers_that_fall_together_are_started_again_by_one_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, "w1", "w2")
    for workspace, worker in (("w1", "a"), ("w1", "b"), ("w2", "c")):
        job.sees(workspace, worker, Presence.GONE)
    job.goes_on()
    assert [command[1] for command in job.started] == [os.path.abspath("w1"), os.path.abspath("w2")]
    assert job.said[0] == (
        "a was stale (its process is gone), b was stale (its process is gone): it is started again "
        "(8 restarts left)."
    )
    assert set(job.goes_on().values()) == {Liveness.WAITING}
    assert len(job.started) == 2


def test_one_that_falls_a_moment_later_is_part_of_the_same_fall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, "w")
    job.sees("w", "a", Presence.GONE)
    job.sees("w", "b", Presence.THERE)
    job.goes_on()
    job.sees("w", "b", Presence.GONE)
    assert job.goes_on()["b"] is Liveness.STALE
    assert job.goes_on()["b"] is Liveness.WAITING
    assert len(job.started) == 1
    job.code = 3  # and then it is started for both of them
    assert set(job.goes_on().values()) == {Liveness.STALE}
    assert len(job.started) == 2


def test_one_that_has_beaten_since_has_fallen_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch, "w")
    job.sees("w", "a", Presence.GONE)
    job.sees("w", "b", Presence.THERE)
    job.goes_on()
    job.sees("w", "b", Presence.THERE, number=6)
    assert job.goes_on()["b"] is Liveness.ALIVE
    job.sees("w", "b", Presence.GONE, number=6)
    job.goes_on()
    assert len(job.started) == 2


def test_one_that_is_alive_is_not_told_by_what_became_of_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, "w", budget=1)
    job.sees("w", "a", Presence.GONE)
    job.sees("w", "b", Presence.UNKNOWN)
    job.goes_on()
    job.code = 3
    assert job.goes_on() == {"a": Liveness.STALE, "b": Liveness.WAITING}


def test_one_that_cannot_be_ended_does_not_keep_the_others_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, "w")
    job.sees("w", "a", Presence.UNKNOWN)
    job.goes_on()
    while job.goes_on()["a"] is not Liveness.STALE:
        assert not job.started
    (said,) = job.said
    assert said.startswith("a is not started again: it runs on host, in a place whose processes ")
    job.sees("w", "b", Presence.GONE)
    job.goes_on()
    assert len(job.started) == 1
    job.goes_on()
    assert [line.split(" ")[0] for line in job.said] == ["a", "b"]
