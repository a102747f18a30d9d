"""Keeps these tests out of the main job, which collects subjects: there are none in here.

The main job is complete with the extra ``pytest`` alone; hypothesis, which these tests import,
comes with tox.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--checkpoint-contracts", default=False) else None
