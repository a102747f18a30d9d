"""A recorder of a folder, for handlers that are called in this process."""

from __future__ import annotations

from pathlib import Path

from pytest_checkpoint.record.belonging import Belonging
from pytest_checkpoint.record.policy import Policy
from pytest_checkpoint.record.recorder import OnStep, Recorder
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.capture import capture


def tree_of(folder: Path) -> TrackedTree:
    captured = capture(folder)
    return TrackedTree(captured.image, dict(captured.identities), (0, 0))


def recorder_of(folder: Path, on_step: OnStep | None = None) -> Recorder:
    """It writes nothing down."""
    return Recorder(
        slot=folder,
        tree=tree_of(folder),
        policy=Policy(),
        belonging=Belonging(),
        journal=None,
        on_step=on_step,
    )
