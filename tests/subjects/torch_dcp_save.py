"""A tensor is saved with torch.distributed.checkpoint, and the folder is synced behind it.

Found, not planted: torch 2.13 syncs ``.metadata`` while its bytes are still in Python's buffer. The
folder ``saved`` is there before. A resume keeps what was saved, and imports torch only to save.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def imported() -> tuple[ModuleType, ModuleType]:
    """By name: type checkers need not have torch."""
    return import_module("torch"), import_module("torch.distributed.checkpoint")


def save(folder: Path) -> None:
    torch, dcp = imported()
    dcp.save({"value": torch.tensor([7.0])}, checkpoint_id=folder, no_dist=True)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
        events.write(b"done save\n")


def load(folder: Path) -> None:
    torch, dcp = imported()
    state = {"value": torch.zeros(1)}
    dcp.load(state, checkpoint_id=folder, no_dist=True)
    print(float(state["value"]))


if __name__ == "__main__":
    command, workspace = sys.argv[1:]
    saved = Path(workspace, "saved")
    if command == "check":
        load(saved)
    elif not (saved / ".metadata").exists():
        save(saved)
