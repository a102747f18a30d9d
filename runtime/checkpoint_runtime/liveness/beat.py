"""One beat, as it stands in ``heartbeats/NAME.json``: who beats, what it is at, how far it is."""

from __future__ import annotations

import enum
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checkpoint_runtime.liveness import beater
from checkpoint_runtime.processes import boot_id

FOLDER_NAME: Final = "heartbeats"
FORMAT: Final = 1
LONGEST_BYTES: Final = 64 * 1024


class BeatState(enum.StrEnum):
    """What a worker says of itself."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    PREEMPTED = "preempted"


@dataclass(frozen=True, slots=True)
class Who:
    """A process, told from every other one, on this machine or not."""

    pid: int
    start_ticks: int
    """In clock ticks since the system was started: tells it from a later one of the same number."""
    boot_id: str
    """Which start of which machine that was; empty if that is not to be learnt."""
    pid_namespace: str
    """Where the number means this process: another container has its own."""
    host: str

    @classmethod
    def this_process(cls) -> Who:
        """
        :raises OSError: there is no ``/proc``.
        """
        pid = os.getpid()
        found = beater.look(pid)
        if found is None:
            raise FileNotFoundError(2, os.strerror(2), f"/proc/{pid}/stat")
        return cls(pid, found[1], boot_id(), pid_namespace(), os.uname().nodename)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """One beat."""

    worker: str
    who: Who
    interval_s: float
    state: BeatState
    number: int
    """Counts the beats of this process, from 1."""
    monotonic_s: float
    """On the clock of the worker's machine: to be read by people, and held against nothing."""
    stage: str | None
    progress: int
    """Grows with everything that the work itself brings to an end, and never by time."""
    done: int | None
    """How much of the stage that is under way."""
    total: int | None


def heartbeat_path(workspace: Path, worker: str) -> Path:
    """Where a worker beats."""
    return workspace / FOLDER_NAME / f"{worker}.json"


def pid_namespace() -> str:
    """Empty if that is not to be learnt."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def who_text(worker: str, who: Who, interval_s: float) -> bytes:
    """The part of a beat that stays the same while its process lives."""
    return _fields(
        format=FORMAT,
        worker=worker,
        pid=who.pid,
        start_ticks=who.start_ticks,
        boot_id=who.boot_id,
        pid_namespace=who.pid_namespace,
        host=who.host,
        interval_s=interval_s,
    )


def stage_text(stage: str | None) -> bytes:
    """The name of a stage, in JSON."""
    return json.dumps(stage).encode()


def beat_in(content: bytes) -> Beat | None:
    """The beat that a file holds; None if that is none of ours, or of a format to come."""
    if len(content) > LONGEST_BYTES:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    try:
        return _beat_of(found)
    except (KeyError, TypeError, ValueError):
        return None


def _beat_of(found: Any) -> Beat:
    if _whole(found["format"]) != FORMAT:
        raise ValueError
    interval_s, monotonic_s = float(found["interval_s"]), float(found["monotonic_s"])
    if not 0 <= interval_s < float("inf"):
        raise ValueError
    return Beat(
        worker=_text(found["worker"]),
        who=Who(
            _whole(found["pid"]),
            _whole(found["start_ticks"]),
            _text(found["boot_id"]),
            _text(found["pid_namespace"]),
            _text(found["host"]),
        ),
        interval_s=interval_s,
        state=BeatState(found["state"]),
        number=_whole(found["beat"]),
        monotonic_s=monotonic_s,
        stage=None if found["stage"] is None else _text(found["stage"]),
        progress=_whole(found["progress"]),
        done=None if found["done"] is None else _whole(found["done"]),
        total=None if found["total"] is None else _whole(found["total"]),
    )


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _fields(**fields: object) -> bytes:
    return json.dumps(fields)[1:-1].encode()
