"""What holds for all tests.

Keeps them out of the main job, which collects subjects: there are none in here.

The main job is complete with the extra ``pytest`` alone; hypothesis, which some of these tests
import, comes with tox.
"""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def pytest_sessionstart() -> None:
    """A test run in the background of a script has SIGINT ignored, and so would what it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What thousands of items are made of stays to the end: no collection looks at it again.

    Of the rest whole collections are rarer: they were a tenth of what the tests cost.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A conftest's hook is asked of every path once it is loaded: only this folder is its own."""
    judging = config.getoption("--checkpoint-contracts", default=False)
    return True if judging and collection_path.is_relative_to(FOLDER) else None
