"""A watcher that cannot list a folder does not forget whom it has seen there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from checkpoint_runtime.liveness import looking
from checkpoint_runtime.liveness.looking import Looking


def unreadable(workspace: Path) -> list[str]:
    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))


def test_known_workers_are_looked_at_although_their_folder_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heartbeats").mkdir()
    for name in ("loader", "main"):
        (tmp_path / "heartbeats" / f"{name}.json").write_text("{}")
    watch = Looking([tmp_path], stale_after_s=30.0)
    seen = [judged.worker for judged in watch.look()]
    monkeypatch.setattr(looking, "workers_in", unreadable)
    assert [judged.worker for judged in watch.look()] == seen == ["loader", "main"]


def test_where_nobody_is_known_the_problem_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "workers_in", unreadable)
    (judged,) = Looking([tmp_path], stale_after_s=30.0).look()
    assert "cannot be looked into" in judged.why
