"""Here pipelines beat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.liveness.workers import Worker, started_worker


@pytest.fixture(autouse=True)
def no_beats() -> None:
    """Takes the place of the fixture that keeps them from it elsewhere."""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    """A process that beats fast, and waits for SIGUSR1 to end."""
    with started_worker(tmp_path) as worker:
        yield worker
