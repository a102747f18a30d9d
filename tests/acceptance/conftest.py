"""The fixtures that these tests stand on."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.sessions import Workplace
from tests.acceptance.started import DEADLINE_S, Started


@pytest.fixture
def workplace(pytester: pytest.Pytester) -> Workplace:
    return Workplace(pytester)


@pytest.fixture
def start(workplace: Workplace) -> Iterator[Callable[..., Started]]:
    """Starts sessions; what a failed test left running of them is ended."""
    sessions: list[Started] = []

    def start_one(*arguments: str) -> Started:
        sessions.append(Started(workplace, *arguments))
        return sessions[-1]

    yield start_one
    for session in sessions:
        if session.process.poll() is None:
            session.process.kill()
        session.process.wait(DEADLINE_S)
        for process in session.processes():
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(process, signal.SIGKILL)
