"""No test of the runtime depends on the environment it was started in."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint_runtime import run
from checkpoint_runtime.beating import beating
from checkpoint_runtime.state import digesting
from tests.runtime.film_job import JOB


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHECKPOINT_EVENTS", "CHECKPOINT_STAGE_FAULT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelines of this process do not beat: each would have another process started for that.

    ``tests/runtime/liveness`` is where they do.
    """
    monkeypatch.setattr(
        run, "beating", lambda folder, interval_s, progress: beating(folder, None, progress)
    )


@pytest.fixture
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill leaves does not depend on syncs, and a thousand of them take long."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: None)


@pytest.fixture
def digests_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of small side files, too."""
    monkeypatch.setattr(digesting, "WORTH_A_THREAD_BYTES", 0)


class Waits:
    """In place of real waits: how long each was to be."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def wait(self, timeout: float) -> bool:
        self.seconds.append(timeout)
        return False


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    found = Waits()
    monkeypatch.setattr(threading, "Event", lambda: found)
    return found


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder with ``film_job.py``, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "film_job.py").write_text(JOB)
    yield "film_job:film"
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
