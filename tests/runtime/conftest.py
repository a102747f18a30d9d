"""No test of the runtime depends on the environment it was started in."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHECKPOINT_EVENTS", "CHECKPOINT_STAGE_FAULT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill leaves does not depend on syncs, and a thousand of them take long."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: None)
